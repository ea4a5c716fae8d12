"""A machine on which all is well, for doctor to look at."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from postroom.core.instant import Instant, format_instant
from postroom.service.doctor import Patient, examine
from postroom.service.findings import Finding, Verdict


SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
[api]
socket = "{folder}/run/api.sock"
[relay.main]
host = "127.0.0.1"
port = {port}
tls = "none"
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = "main"
"""


@dataclass
class Ward:
    """A machine on which all is well."""

    folder: Path
    patient: Patient
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def found(self, **changes: Any) -> list[Finding]:
        return list(examine(replace(self.patient, **changes)))

    def worst(self, **changes: Any) -> dict[str, Finding]:
        """What is not as it should be, by check; warnings only where nothing failed."""
        found = [one for one in self.found(**changes) if one.verdict is not Verdict.OK]
        return {
            one.check: one for one in sorted(found, key=lambda one: one.verdict != Verdict.WARN)
        }


def settings_in(folder: Path, port: int) -> Path:
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o750)
    config = folder / "postroom.toml"
    config.write_text(SETTINGS.format(folder=folder, port=port))
    config.chmod(0o644)
    return config


def note_backup(folder: Path, at: Instant) -> None:
    (folder / "state" / "last_backup").write_text(f'{{"at": "{format_instant(at)}"}}')
