"""What one version of an open file is: read, put together and checked, each step when it is first asked for."""

from __future__ import annotations

from lclint.checking import Checked
from lclint.config import build
from lclint.config.identify import could_be_config
from lclint.config.run import Run
from lclint.core.errors import LclintError
from lclint.core.finding import Finding
from lclint.core.options import Options
from lclint.engine.evaluate import Hit
from lclint.engine.rules import RuleSet
from lclint.facts import everything
from lclint.per_file import PerFile
from lclint.server.positions import Text
from lclint.sources import document as documents
from lclint.sources import files
from lclint.sources.document import Document

everything.load()


class Analysis:
    """One version of one file; ``saved_as`` is its path where it has one, ``path`` what messages call it.

    ``known`` says that an earlier version was a config: what it is cannot be told while it does not parse. ``error`` is why the text
    cannot be read or checked; a text that is no config of Megatron Bridge has neither a run nor an error.
    """

    def __init__(self, saved_as: str | None, text: Text, version: int | None, per_file: PerFile, known: bool = False, path: str = "") -> None:
        self.saved_as = saved_as
        self.path = saved_as or path
        self.text = text
        self.version = version
        self.per_file = per_file
        self.document: Document | None = None
        self.error: LclintError | None = None
        self._known = known
        self._options: Options | None = None
        self._run: Run | None = None
        self._put_together = False
        self._checked: Checked | None = None
        self._hits: dict[int, Hit] | None = None
        self._fixed: set[int] = set()
        if len(text.value) > files.CONFIG_LIMIT or self._left_out():
            return
        try:
            self.document = documents.from_text(text.content, self.path, None, bool(text.mark))
        except LclintError as error:
            if known or could_be_config(text.content.encode()):
                self.error = error

    def _left_out(self) -> bool:
        """Whether the settings leave the file out; settings that cannot be read are a matter of ``options``."""
        try:
            return self.saved_as is not None and self.per_file.excluded(self.saved_as) is not None
        except LclintError:
            return False

    @property
    def options(self) -> Options:
        """What the file is checked by. Raises LclintError for settings that say something wrong."""
        if self._options is None:
            self._options = self.per_file.options(self.saved_as, self.document)
        return self._options

    @property
    def rules(self) -> RuleSet:
        """The rules that it is checked by. Raises LclintError."""
        return self.per_file.rules(self.options)

    @property
    def run(self) -> Run | None:
        """The run that the text makes, None where it makes none."""
        if not self._put_together:
            self._put_together = True
            if self.document is not None:
                try:
                    self._run = build.from_document(self.document, self.options, self.per_file.base(self.options), tolerant=True)[0]
                except LclintError as error:
                    if self.is_config:
                        self.error = error
        return self._run

    @property
    def checked(self) -> Checked | None:
        """The run's findings, None where there is no run to check."""
        if self._checked is None and self.run is not None:
            try:
                self._checked = Checked(self.run, self.rules, known=self.per_file.known(self.options, self.path))
            except LclintError as error:
                self.error = error
        return self._checked

    def hit(self, finding: Finding) -> Hit | None:
        """The case of a rule that a finding came from; None for one about a comment, which has its fixes already."""
        if self._hits is None:
            self._hits = {id(hit.finding): hit for hit in (self.checked.hits if self.checked is not None else ())}
        return self._hits.get(id(finding))

    def add_fixes(self, finding: Finding) -> None:
        """Give a finding its fixes, once."""
        hit = self.hit(finding)
        if self.checked is not None and hit is not None and id(hit) not in self._fixed:
            self._fixed.add(id(hit))
            self.checked.add_fixes([hit])

    @property
    def findings(self) -> list[Finding]:
        """What is found, in the order of the text."""
        return self.checked.report.findings if self.checked is not None else []

    @property
    def is_config(self) -> bool:
        """Whether this is a Megatron Bridge config, as far as its text tells."""
        if self._run is not None:
            return True
        return self._known or could_be_config(self.text.content.encode())

    def again(self, text: str) -> Checked:
        """Another text of the same file, as a fix or a comment makes it, checked. Raises InputError where it is no YAML."""
        assert self.document is not None
        assert self.run is not None
        document = documents.from_text(text, self.path, self.document.loader, bool(self.text.mark))
        base, known = self.per_file.base(self.options), self.per_file.known(self.options, self.path)
        run, _ = build.from_document(document, self.options, base, self.run.kind, self.run.release, tolerant=True)
        assert run is not None
        return Checked(run, self.rules, known=known)
