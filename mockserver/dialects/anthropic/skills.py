"""Skills and their versions, which messages can name (https://platform.claude.com/docs/en/api/skills).

Clients that ask for the beta get them in its words, which were changed later.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.kept_objects import KeptObject, ObjectView
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._forms import Form, Part, read_form
from mockserver.dialects._openai_api.objects.skills import (
    USUAL_SKILL,
    join_files,
    open_archive,
    read_front_matter,
    show_zip,
)
from mockserver.dialects._reply import make_look_up
from mockserver.dialects.anthropic.bodies import NAME
from mockserver.dialects.anthropic.errors import refuse
from mockserver.dialects.anthropic.files import render_view
from mockserver.dialects.anthropic.models import find_next_page
from mockserver.dialects.anthropic.request import list_betas
from mockserver.kinds.kept import SKILL_VERSIONS, SKILLS
from mockserver.kinds.objects import Objects, find_object
from mockserver.media.large_data import hash_data
from mockserver.wire.parts import write_moment

_PATH = "/v1/skills"
_BETA = "skills-2025-10-02"
_IDS = IdShape("skill_01", 22, "base58")
_VERSION_IDS = IdShape("skillver_01", 22, "base58")


def make_operations() -> tuple[Operation, ...]:
    """Return the operations on skills and their versions."""
    one = _PATH + "/{id}"
    versions = _PATH + "/{owner}/versions"
    version = versions + "/{id}"
    look_up = partial(make_look_up, NAME, render=render_view)
    return (
        Operation(SKILLS.made_by, "POST", _PATH, parse=_parse_skill, render=render_view),
        Operation(SKILL_VERSIONS.made_by, "POST", versions, parse=_parse_version, render=render_view),
        look_up("skills", "GET", _PATH, work=_list),
        look_up("skill", "GET", one, work=_show),
        look_up("delete_skill", "DELETE", one, work=_delete),
        look_up("skill_versions", "GET", versions, work=_list_versions),
        look_up("skill_version", "GET", version, work=_show_version),
        look_up("delete_skill_version", "DELETE", version, work=_delete_version),
        look_up("skill_version_content", "GET", f"{version}/content", work=_show_content),
    )


def _parse_skill(http: HttpRequest, validation: Validation) -> Call:
    archive, raw = _read(http, validation)
    meaning = {**raw, "sha256": hash_data(archive)}
    return Call(NAME, SKILLS.made_by, model="", http=http, meaning=meaning, raw=raw, work=partial(_create, archive))


def _parse_version(http: HttpRequest, validation: Validation) -> Call:
    archive, raw = _read(http, validation)
    skill = http.path_params["owner"]
    return Call(
        NAME,
        SKILL_VERSIONS.made_by,
        model="",
        http=http,
        meaning={**raw, "skill": skill, "sha256": hash_data(archive)},
        raw=raw,
        id=skill,
        work=partial(_create_version, archive),
    )


def _read(http: HttpRequest, validation: Validation) -> tuple[bytes, dict[str, Json]]:
    """Return the files of a form as a zip archive, and what they and the form say about a skill. Raises Failure."""
    try:
        form = read_form(http)
    except ValueError:
        form = Form()
    files = form.find_files("files")
    archive = join_files(files)
    opened = open_archive(archive)
    stated = read_front_matter(opened.manifest)
    if not files and validation is not Validation.OFF:
        raise refuse("No files provided. Please provide files using 'files[]' field.")
    if validation is Validation.LIVE:
        _check_live(files, _find_folder(opened.paths), stated)
    described = {**USUAL_SKILL, **stated}
    fields = dict(form.list_fields())
    title = fields.get("display_name") or fields.get("display_title") or described["name"]
    return archive, {**described, "title": title}


def _find_folder(paths: Sequence[str]) -> str:
    """Return the folder of a skill, which its SKILL.md is in. Raises Failure if it is elsewhere."""
    for path in paths:
        folder, _, name = path.partition("/")
        if name == "SKILL.md":
            return folder
    raise refuse("SKILL.md file must be exactly in the top-level folder.")


def _check_live(files: Sequence[Part], folder: str, stated: Mapping[str, str]) -> None:
    """Raise Failure for what only the live service refuses."""
    if any("\\" in (file.file_name or "") for file in files):
        raise refuse("Skill contains path with invalid characters")
    name = stated.get("name", "")
    if name and folder.lower() != name.lower():
        raise refuse(f"The folder name '{folder}' must match the skill name '{name}' in SKILL.md.")
    if len(stated.get("description", "")) > _MAX_DESCRIPTION:
        raise refuse(f"field 'description' in SKILL.md must be at most {_MAX_DESCRIPTION} characters")


_MAX_DESCRIPTION = 1024


async def _create(archive: bytes, call: Call, objects: Objects) -> ObjectView:
    """Keep a skill and its first version."""
    name = objects.derive_id(_IDS)
    version = await _keep_version(archive, call, objects, skill=name)
    body = {"title": call.raw["title"], "created": objects.now, "latest": version.id}
    made = KeptObject(NAME, SKILLS.made_by, id=name, body={**body, "number": version.body["number"]})
    await objects.keep(made)
    return ObjectView(_describe_skill(made, call))


async def _create_version(archive: bytes, call: Call, objects: Objects) -> ObjectView:
    """Keep another version of a skill, which becomes the latest."""
    skill = await _find_skill(call.id, objects)
    version = await _keep_version(archive, call, objects, skill=skill.id)
    number = version.body["number"]
    await objects.change(skill, lambda found: found.change(latest=version.id, number=number))
    return ObjectView(_describe_version(version, call))


async def _keep_version(archive: bytes, call: Call, objects: Objects, *, skill: str) -> KeptObject:
    earlier = await objects.list(SKILL_VERSIONS.made_by, skill)
    made = KeptObject(
        NAME,
        SKILL_VERSIONS.made_by,
        id=objects.draw_id(_VERSION_IDS, "version"),
        owner=skill,
        body={
            "name": call.raw["name"],
            "description": call.raw["description"],
            "created": objects.now,
            "number": str(objects.now * 1_000_000 + len(earlier)),  # microseconds, in the beta's words
        },
        data=archive,
    )
    await objects.keep(made)
    return made


async def _find_skill(name: str, objects: Objects) -> KeptObject:
    """Return a skill by its id. Raises Failure; one that nobody made may be made up."""
    body = {"title": USUAL_SKILL["name"], "created": objects.now, "latest": "latest", "number": "latest"}
    invented = KeptObject(NAME, SKILLS.made_by, id=name, body=body)
    return await find_object(objects, SKILLS.made_by, name, invented=invented)


async def _find_version(call: Call, objects: Objects) -> KeptObject:
    """Return a version by its id, its number in the beta, or as `latest`. Raises Failure, unless it may be made up."""
    owner = call.http.path_params["owner"]
    for kept in reversed(await objects.list(SKILL_VERSIONS.made_by, owner)):
        if call.id in (kept.id, kept.body["number"], "latest"):
            return kept
    body = {**USUAL_SKILL, "created": objects.now, "number": call.id}
    invented = KeptObject(NAME, SKILL_VERSIONS.made_by, id=call.id, owner=owner, body=body)
    return await find_object(objects, SKILL_VERSIONS.made_by, f"{owner}/{call.id}", invented=invented)


async def _list(call: Call, objects: Objects) -> ObjectView:
    kept = reversed(await objects.list(SKILLS.made_by))
    own = call.http.query.get("source", "custom") == "custom"
    listed = [_describe_skill(each, call) for each in kept] if own else []
    return ObjectView(find_next_page(listed, call.http))


async def _show(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_skill(call.id, objects)
    return ObjectView(_describe_skill(kept, call))


async def _delete(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_skill(call.id, objects)
    versions = await objects.list(SKILL_VERSIONS.made_by, kept.id)
    if versions and not kept.invented:
        raise refuse("Cannot delete skill with existing versions. Delete all versions first.")
    # A skill that nobody made takes along what was added to it: its first version could not have been deleted.
    for each in (*versions, kept):
        await objects.change(each, KeptObject.forget)
    return ObjectView({"id": kept.id, "type": "skill_deleted"})


async def _list_versions(call: Call, objects: Objects) -> ObjectView:
    kept = reversed(await objects.list(SKILL_VERSIONS.made_by, call.http.path_params["owner"]))
    return ObjectView(find_next_page([_describe_version(each, call) for each in kept], call.http))


async def _show_version(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_version(call, objects)
    return ObjectView(_describe_version(kept, call))


async def _delete_version(call: Call, objects: Objects) -> ObjectView:
    kept = await _find_version(call, objects)
    await objects.change(kept, KeptObject.forget)
    name = kept.body["number"] if _wants_beta(call) else kept.id
    return ObjectView({"id": name, "type": "skill_version_deleted"})


async def _show_content(call: Call, objects: Objects) -> ObjectView:
    return show_zip(await _find_version(call, objects))


def _wants_beta(call: Call) -> bool:
    """Return whether a client asks for the beta's words."""
    return _BETA in list_betas(call.http)


def _describe_skill(kept: KeptObject, call: Call) -> dict[str, Json]:
    """Return a skill as clients see it."""
    stated = kept.body
    moment = write_moment(stated["created"])
    words = (
        {"display_title": stated["title"], "latest_version": stated["number"], "source": "custom"}
        if _wants_beta(call)
        else {"display_name": stated["title"], "latest_version_id": stated["latest"], "source": {"type": "custom"}}
    )
    return {"id": kept.id, "type": "skill", **words, "created_at": moment, "updated_at": moment}


def _describe_version(kept: KeptObject, call: Call) -> dict[str, Json]:
    """Return a version of a skill as clients see it."""
    stated = kept.body
    words = {"version": stated["number"], "directory": stated["name"]} if _wants_beta(call) else {}
    return {
        "id": kept.id,
        "type": "skill_version",
        "skill_id": kept.owner,
        "name": stated["name"],
        "description": stated["description"],
        **words,
        "created_at": write_moment(stated["created"]),
    }
