"""OCR: the text on the pages of a document, as Markdown. Without a rule, each page names its document."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from mockserver.config.tables import AsList, AsText, ByShape, field
from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft
from mockserver.core.http import Headers
from mockserver.core.plan import Artifact
from mockserver.kinds.kind import ArtifactKind, Origins, ReadFile, ThenKey


class DocumentPage(Struct, frozen=True):
    """A page, by its place in the document, and its text."""

    index: int
    markdown: str


class Pages(Artifact, frozen=True):
    """The pages of a document that are wanted."""

    model: str
    pages: tuple[DocumentPage, ...]
    headers: Headers = ()

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

    def read(index: int) -> str:
        if texts is not None:
            return texts[index]
        return write_page(call.last_user, index) if stated is None else str(stated)

    pages = [DocumentPage(index, read(index)) for index in wanted if texts is None or index < count]
    return Pages(draft.model or call.model, tuple(pages), headers=draft.headers)


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
