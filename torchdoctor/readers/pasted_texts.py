"""What pasted texts say, the surest sources first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.facts import Quoted
from torchdoctor.readers import collect_env, nvidia_smi, package_lists, prose, sections
from torchdoctor.readers.container_marks import container_said
from torchdoctor.readers.document import Document, Part
from torchdoctor.readers.error_texts import last_error, read_errors
from torchdoctor.readers.recogniser import read_lines
from torchdoctor.readers.statement import Said
from torchdoctor.readers.typed_installs import origin_said
from torchdoctor.recording import PastedText
from torchdoctor.tables import Tables

# A failure of nvidia-smi is why somebody asks, so it counts before a good answer taken elsewhere (on the host, later).
_FAILED, _REPORT, _SMI, _PACKAGES, _LINES, _PROSE = range(6)


def read_texts(texts: Iterable[PastedText], tables: Tables) -> Iterator[Said]:
    """The statements of all texts, ordered by how sure their source is."""
    ranked: list[tuple[int, Said]] = []
    for pasted in texts:
        ranked += _read_text(Document(pasted), tables)
    ranked.sort(key=lambda pair: pair[0])
    yield from _about_one_torch([said for _, said in ranked])


def _about_one_torch(said: list[Said]) -> Iterator[Said]:
    """Keep to the torch that is named first: the build of another version must not be joined to it.

    Of several prints of that version the one with a label goes first, because it says more.
    """
    version = next((item.value for item in said if item.path == "torch.version"), None)
    other = {item.source for item in said if item.path == "torch.version" and item.value != version}
    full = [item for item in said if item.path == "torch.full" and item.source not in other]
    yield from sorted(full, key=lambda item: "+" not in str(item.value))
    for item in said:
        if item.path != "torch.full" and not (item.path.startswith("torch.") and item.source in other):
            yield item


def _read_text(document: Document, tables: Tables) -> Iterator[tuple[int, Said]]:
    errors = read_errors(document, tables.known_errors)
    last = last_error(document, errors)
    if errors.is_documentation and not last:
        yield _PROSE, Said("quoted", Quoted(errors.items), document.name)  # the machines it speaks of are not this host
        return
    for part in sections.find_parts(document):
        yield from _read_part(part, tables)
    yield from ((_LINES, said) for said in read_lines(document, sections.recognisers(), tables))
    yield from ((_PROSE, said) for said in prose.read_prose(document))
    yield from ((_PROSE, said) for said in (*container_said(document), *origin_said(document)))
    yield _PROSE, Said("quoted", Quoted(errors.items, last, document.omitted), document.name)


def _read_part(part: Part, tables: Tables) -> Iterator[tuple[int, Said]]:
    if part.kind == collect_env.KIND:
        yield from ((_REPORT, said) for said in collect_env.read(part))
    elif part.kind in {package_lists.PIP, package_lists.CONDA}:
        yield from ((_PACKAGES, said) for said in package_lists.read(part))
    else:
        text = "\n".join(line.text for line in part.lines)
        said = list(nvidia_smi.read_smi(text, part.at(part.lines[0]), tables=tables))
        failed = any(item.path == "driver.smi" and item.value != "ok" for item in said)
        yield from ((_FAILED if failed else _SMI, item) for item in said)
