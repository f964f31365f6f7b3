"""OCR: the text on the pages of a document, as Markdown. Without a rule, each page names its document."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.tables import AsList, AsText, ByShape, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey

IMAGE_SIZE = 8_000  # of an image in the size of pages, as a reply may have its picture


class PageImage(Struct, frozen=True):
    """An image on a page: its name, what is written in its place, and JSON about it, if that is wanted."""

    name: str
    words: str
    annotation: str | None = None


class DocumentPage(Struct, frozen=True):
    """A page, by its place in the document, its text, and the images that the text names."""

    index: int
    markdown: str
    images: tuple[PageImage, ...] = ()


class Pages(Artifact, frozen=True):
    """The pages of a document that are wanted, and JSON about the document, if that is."""

    model: str
    pages: tuple[DocumentPage, ...]
    annotation: str | None = None
    headers: Headers = ()

    @property
    def size(self) -> int:
        return sum([len(page.markdown) + len(page.images) * IMAGE_SIZE for page in self.pages])

    def show(self) -> str:
        """Return the text of all pages."""
        return "\n\n".join([page.markdown for page in self.pages])


def write_page(document: str, index: int) -> str:
    """Return the text of a page, by its place in a `document` that is a URL or a name."""
    name = document.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or document
    return f"# {name.rpartition('.')[0] or name}\n\nPage {index + 1} of {name}."


def _compile(stated: str | Sequence[str], read_file: ReadFile) -> str | tuple[str, ...]:
    return stated if isinstance(stated, str) else tuple(stated)


def _finish(call: Call, draft: ArtifactDraft, origins: Origins) -> Pages:
    stated: str | tuple[str, ...] | None = draft.stated
    texts = stated if isinstance(stated, tuple) else None
    count = 1 if texts is None else len(texts)
    wanted = range(count) if call.options.pages is None else call.options.pages

    schema = call.options.image_schema

    @cache
    def describe(said: str) -> str | None:
        return None if schema is None else origins.fill(schema, said)

    def read(index: int) -> str:
        if texts is not None:
            return texts[index]
        if stated is not None:
            return str(stated)
        image = "" if schema is None else f"\n\n![img-{index}.jpeg](img-{index}.jpeg)"
        return write_page(call.last_user, index) + image

    def see(words: str, name: str) -> PageImage:
        said = "" if words == name else words  # a name is no description
        return PageImage(name, words, describe(said))

    def read_page(index: int) -> DocumentPage:
        text = read(index)
        images = {name: see(words, name) for words, name in _IMAGE.findall(text)}
        return DocumentPage(index, text, images=tuple(images.values()))

    pages = [read_page(index) for index in wanted if texts is None or index < count]
    made = Pages(draft.model or call.model, tuple(pages), headers=draft.headers)
    if call.options.schema is None:
        return made
    return replace(made, annotation=origins.fill(call.options.schema, made.show()))


_IMAGE = re.compile(r"!\[([^]\n]{0,1000})\]\(([\w.-]{1,200})\)")  # in Markdown; not one at a URL


OCR = ArtifactKind(
    name="ocr",
    advice='; write markdown: "# Title"',
    then=ThenKey(
        key="markdown",
        value=Annotated[
            AsText[str] | AsList[Annotated[list[str], field(min_length=1)]],
            ByShape("a text, or a list with the text of each page"),
        ],
        doc="the text of a scanned document: of every page, or a list of pages",
        beside=frozenset(("timing", "faults", "model", "headers")),
        states="the text of a document",
        example="# Title",
        compile=_compile,
    ),
    body=lambda text: {"document": {"type": "document_url", "document_url": text}},
    model_word="ocr",
    wire={"pages": [{"index": int, "markdown": str}], "usage_info": {"pages_processed": int}},
    finish=_finish,
)
OPERATIONS = (OCR,)
