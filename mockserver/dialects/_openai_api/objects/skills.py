"""Skills and their versions (https://platform.openai.com/docs/api-reference/skills)."""

import io
from collections.abc import Sequence
from typing import NamedTuple

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.plan import Failure
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import BodyModel, shape
from mockserver.dialects._forms import Part, nest_fields, parse_form
from mockserver.dialects._openai_api.objects.resource import New, Resource, serve
from mockserver.dialects._parse import Body, Complaint
from mockserver.kinds.kept import SKILL_VERSIONS, SKILLS
from mockserver.kinds.objects import Objects

_MAX_READ = 100_000  # bytes of SKILL.md
_ZIP = b"PK\x03\x04"


class Skills(Resource):
    kind = SKILLS
    path = "/skills"
    type = "skill"
    deleted = "skill.deleted"
    ids = IdShape("skill_", 32, "hex")
    unknown = "Skill with id '{id}' not found."
    updates = BodyModel(shape(default_version=str))

    def read(self, http: HttpRequest, validation: Validation) -> New:
        return read_skill(http, validation)

    async def create(self, new: New, objects: Objects, statuses: Sequence[str] = ()) -> KeptObject:
        kept = await super().create(new, objects, statuses)
        await SkillVersions(self.api).create(New(id="1", fields=new.fields, data=new.data, owner=kept.id), objects)
        return kept

    async def make(self, new: New, objects: Objects) -> Body:
        described = {key: new.fields.get(key, usual) for key, usual in USUAL_SKILL.items()}
        return {**described, "default_version": "1", "latest_version": "1"}

    @serve("GET", "content")
    async def skill_content(self, call: Call, objects: Objects) -> ObjectView:
        kept = await self.find_asked(call, objects)
        versions = SkillVersions(self.api)
        return show_zip(await versions.find(objects, str(kept.body["default_version"]), kept.id))


class SkillVersions(Resource):
    """Versions are known by their numbers, and have an id besides."""

    kind = SKILL_VERSIONS
    path = "/skills/{owner}/versions"
    type = "skill.version"
    deleted = "skill.version.deleted"
    ids = IdShape("skillver_", 32, "hex")
    unknown = "Version '{id}' of skill '{owner}' not found."
    parent = Skills

    def read(self, http: HttpRequest, validation: Validation) -> New:
        return read_skill(http, validation)

    async def _create(self, new: New, call: Call, objects: Objects) -> ObjectView:
        """Make the next version of a skill, which may become the default one."""
        skills = Skills(self.api)
        skill = await skills.find(objects, new.owner)
        skill = (await objects.change(skill, _count_version)).after
        number = str(skill.body["latest_version"])
        if new.fields.get("default") == "true":
            await objects.change(skill, lambda found: found.change(default_version=number))
        fields = {"version": number, **new.fields}
        made = New(id=number, fields=fields, data=new.data, owner=new.owner)
        return ObjectView(self.show(await self.create(made, objects)))

    async def make(self, new: New, objects: Objects) -> Body:
        described = {key: new.fields.get(key, usual) for key, usual in USUAL_SKILL.items()}
        name = objects.draw_id(self.ids, f"version {new.owner} {new.id}")
        return {"id": name, "skill_id": new.owner, "version": new.id, **described}

    def show_deleted(self, kept: KeptObject) -> Body:
        return {"id": kept.body["id"], "object": self.deleted, "deleted": True, "version": kept.id}

    @serve("GET", "content")
    async def skill_version_content(self, call: Call, objects: Objects) -> ObjectView:
        return show_zip(await self.find_asked(call, objects))


def read_skill(http: HttpRequest, validation: Validation) -> New:
    """Return the skill that a form makes: its files as a zip archive, with the name and description in its SKILL.md."""
    if "multipart/" not in (http.find_header("content-type") or "").lower() and validation is not Validation.LIVE:
        return New(data=zip_files(()))  # the clients let files be left out
    form = parse_form(http)
    files = form.find_files("files")
    if not files and validation is Validation.LIVE:
        raise refuse(Complaint("missing", ("files",)))
    data = join_files(files)
    default = nest_fields(form).get("default")
    return New(
        fields={"default": default, **read_front_matter(open_archive(data).manifest)}, data=data, file_name="skill.zip"
    )


def join_files(files: Sequence[Part]) -> bytes:
    """Return the files of a skill as a zip archive; the only one may be that already. Raises Failure."""
    if (size := sum([len(file.content) for file in files])) > _MAX_BYTES:
        raise Failure("too_large", f"A skill may have {_MAX_BYTES:,} bytes; these files have {size:,}.")
    return files[0].data if len(files) == 1 and files[0].data.startswith(_ZIP) else zip_files(files)


class SkillFiles(NamedTuple):
    """The paths of a skill's files, and the text of its SKILL.md: empty without one."""

    paths: Sequence[str]
    manifest: str


def open_archive(archive: bytes) -> SkillFiles:
    """Return what is in a zip archive; nothing if it is damaged."""
    import zlib
    from lzma import LZMAError
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(io.BytesIO(archive)) as opened:
            paths = opened.namelist()
            name = next((each for each in paths if each.rsplit("/", 1)[-1].lower() == "skill.md"), None)
            if name is None:
                return SkillFiles(paths, "")
            with opened.open(name) as file:
                return SkillFiles(paths, file.read(_MAX_READ).decode("utf-8", "replace"))
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError, zlib.error, LZMAError):
        return SkillFiles((), "")


def read_front_matter(text: str) -> Body:
    """Return the name and the description between the lines `---` at the start of a text."""
    first, *lines = text.splitlines() or [""]
    stated: dict[str, str] = {}
    if first.rstrip() != "---":
        return stated
    for line in lines:
        if line.rstrip() == "---":
            return stated
        key, _, value = line.partition(":")
        if key in USUAL_SKILL:
            stated[key] = value.strip().strip("\"'")
    return {}  # it has no end


def zip_files(files: Sequence[Part]) -> bytes:
    """Return files as a zip archive, whose bytes follow from theirs."""
    from zipfile import ZipFile, ZipInfo

    written = io.BytesIO()
    with ZipFile(written, "w") as archive:
        for number, file in enumerate(files):
            archive.writestr(ZipInfo(keep_inside(file.file_name) or f"file_{number}"), file.data)
    return written.getvalue()


def keep_inside(name: str | None) -> str:
    """Return the path of a file without what would lead out of the folder into which it is unpacked."""
    steps = (name or "").replace("\\", "/").split("/")
    return "/".join([step for step in steps if step not in ("", ".", "..")])


def show_zip(kept: KeptObject) -> ObjectView:
    """Return the archive of a skill."""
    return ObjectView(data=kept.data or zip_files(()), headers=(("content-type", "application/zip"),))


def _count_version(kept: KeptObject) -> KeptObject:
    return kept.change(latest_version=str(int(kept.body["latest_version"]) + 1))


_MAX_BYTES = 50_000_000  # of the files of a skill, which are joined in memory
USUAL_SKILL = {"name": "skill", "description": "A skill."}
