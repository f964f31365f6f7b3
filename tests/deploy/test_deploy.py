"""The files of deploy/ fit together and fit the server: its settings, its command line, its paths and its port.

They are not run here: docs/guides/scale.md says how the image was tried, and that no cluster was.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_validate import validate

from mockserver.cli import COMMANDS
from mockserver.config.layers import assemble
from mockserver.config.settings import Settings
from mockserver.core.http import CONTROL
from mockserver.server.control import ROUTES
from mockserver.server.run import Running
from tests.kit import program
from tests.kit.local import local

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
FOLDERS = [DEPLOY / "kubernetes" / name for name in ("base", "redis")]
_REDIS = "redis://redis:6379/0"

Manifest = Mapping[str, Any]


def manifests(folder: Path) -> Iterator[Manifest]:
    """The resources that a kustomization lists, but for those of other folders."""
    for name in kustomization(folder)["resources"]:
        if not name.startswith("../"):
            yield from yaml.safe_load_all((folder / name).read_text(encoding="utf-8"))


def kustomization(folder: Path) -> Manifest:
    return dict(yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8")))


KINDS = {(found["kind"], found["metadata"]["name"]): found for folder in FOLDERS for found in manifests(folder)}
DEPLOYMENT = KINDS["Deployment", "mockserver"]["spec"]["template"]["spec"]
(POD,) = DEPLOYMENT["containers"]
SERVER = COMPOSE["services"]["server"]


def instruction(name: str) -> str:
    """The only instruction of this name in the last stage of the Containerfile, on one line."""
    last = CONTAINERFILE.replace("\\\n", "").rpartition("\nFROM ")[2]
    (found,) = re.findall(rf"^{name} (.*)$", last, re.MULTILINE)
    return str(found)


def environments() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The variables of the image, of a server of the compose file, and of a pod."""
    image = dict(re.findall(r"(\w+)=(\S+)", instruction("ENV")))
    yield "image", image
    yield "compose", image | SERVER["environment"] | {"MOCKSERVER_CONTROL_TOKEN": "secret"}
    yield "pod", image | pod_variables() | {"MOCKSERVER_CONTROL_TOKEN": "secret"}


def pod_variables() -> Mapping[str, str]:
    found = dict[str, str]()
    for source in POD["envFrom"]:
        if "configMapRef" in source:
            found |= KINDS["ConfigMap", source["configMapRef"]["name"]]["data"]
        else:
            found |= KINDS["Secret", source["secretRef"]["name"]]["stringData"]
    return found


def test_hadolint_finds_nothing_in_the_containerfile() -> None:
    command = [str(Path(sys.executable).parent / "hadolint"), "--failure-threshold", "style", "deploy/Containerfile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_manifests_are_strictly_valid(folder: Path) -> None:
    for manifest in manifests(folder):
        validate(manifest, "1.37", strict=True)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_kustomizations_list_every_file(folder: Path) -> None:
    files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in kustomization(folder)["resources"] if not name.startswith("../")} == files
    assert all((folder / name).exists() for name in kustomization(folder)["resources"])


@pytest.mark.parametrize(("where", "variables"), [*environments()])
def test_variables_are_settings_with_good_values(where: str, variables: Mapping[str, str]) -> None:
    ours = {name: text for name, text in variables.items() if name.startswith("MOCKSERVER_")}
    assert {name.removeprefix("MOCKSERVER_").lower() for name in ours} <= set(Settings.model_fields)
    settings = assemble({}, ours, ())
    assert (settings.host, settings.port) == ("0.0.0.0", 8000)
    assert where == "image" or (settings.state, settings.journal_calls) == (_REDIS, 100)


def test_every_server_of_a_fleet_wants_a_token_that_nobody_knows() -> None:
    assert SERVER["environment"]["MOCKSERVER_CONTROL_TOKEN"].startswith("${MOCKSERVER_CONTROL_TOKEN:?")
    assert pod_variables()["MOCKSERVER_CONTROL_TOKEN"] == ""


def test_the_command_of_the_image_exists() -> None:
    assert json.loads(instruction("ENTRYPOINT")) == ["python", "-m", "mockserver"]
    (command,) = json.loads(instruction("CMD"))
    assert command in COMMANDS
    assert not {"command", "args"} & {*POD, *SERVER}  # neither says another one


def test_copied_files_exist_and_reach_the_builder() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", CONTAINERFILE, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [(ROOT / name).exists() and f"!{name}" in allowed for name in copied] == [True, True]


def test_the_user_is_not_root_and_the_same_everywhere() -> None:
    context = DEPLOYMENT["securityContext"]
    assert instruction("USER") == f"{context['runAsUser']}:{context['runAsGroup']}" == "10001:10001"


def test_rules_are_mounted_where_the_server_looks() -> None:
    folder = instruction("WORKDIR")
    rules, _ = DEPLOYMENT["volumes"]
    assert {mount["name"]: mount["mountPath"] for mount in POD["volumeMounts"]}[rules["name"]] == folder
    assert "rules.yaml" in KINDS["ConfigMap", rules["configMap"]["name"]]["data"]
    assert SERVER["volumes"] == [f"./rules:{folder}:ro"]


def test_large_uploads_have_a_place_on_a_root_that_is_read_only() -> None:
    assert POD["securityContext"]["readOnlyRootFilesystem"]
    assert SERVER["read_only"]
    _, uploads = DEPLOYMENT["volumes"]
    assert "emptyDir" in uploads
    assert {mount["name"]: mount["mountPath"] for mount in POD["volumeMounts"]}[uploads["name"]] == "/tmp"
    assert SERVER["tmpfs"] == ["/tmp"]


def test_rules_have_no_mistakes_and_are_the_same_in_both() -> None:
    path = DEPLOY / "rules" / "rules.yaml"
    assert program.run("check", path).out.endswith("rules, no mistakes, 0 remarks\n")
    _, _, rules = path.read_text(encoding="utf-8").partition("\n")
    assert KINDS["ConfigMap", "mockserver-rules"]["data"]["rules.yaml"] == rules


def probes() -> Mapping[str, tuple[str, int]]:
    """Which path on which port is asked by whom."""
    ports = {port["name"]: port["containerPort"] for port in POD["ports"]}
    found = {
        name: (POD[name]["httpGet"]["path"], ports[POD[name]["httpGet"]["port"]])
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    proxy = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    found["haproxy"] = (re.findall(r"uri (\S+)", proxy)[0], int(re.findall(r"server:(\d+)", proxy)[0]))
    return found


def test_probes_ask_what_the_server_answers() -> None:
    (exposed,) = re.findall(r"^EXPOSE (\d+)$", CONTAINERFILE, re.MULTILINE)
    port = Settings().port
    assert {name: (path.removeprefix(CONTROL) in ROUTES, at) for name, (path, at) in probes().items()} == dict.fromkeys(
        probes(), (True, port)
    )
    assert int(exposed) == port
    assert probes()["livenessProbe"][0].endswith("/health")
    assert {path for name, (path, _) in probes().items() if name not in ("startupProbe", "livenessProbe")} == {
        f"{CONTROL}/api/ready"
    }


def test_the_health_check_passes_while_a_server_is_ready() -> None:
    python, *words = json.loads(instruction("HEALTHCHECK").partition(" CMD ")[2])
    assert python == "python"
    with Running(local(port=0).live) as running:
        port = running.address.rpartition(":")[2]
        assert subprocess.run([sys.executable, *words], env={"MOCKSERVER_PORT": port}, check=False).returncode == 0
    stopped = subprocess.run([sys.executable, *words], env={"MOCKSERVER_PORT": port}, capture_output=True, check=False)
    assert stopped.returncode == 1


def test_the_service_does_not_set_the_port() -> None:
    """A Service `mockserver` would set MOCKSERVER_PORT to tcp://… in every pod."""
    assert f"{POD['name']}_port".upper() == "MOCKSERVER_PORT"
    assert DEPLOYMENT["enableServiceLinks"] is False


@pytest.mark.parametrize(("kind", "name"), [*KINDS])
def test_selectors_and_references_lead_to_pods(kind: str, name: str) -> None:
    labels = [KINDS[of]["spec"]["template"]["metadata"]["labels"] for of in KINDS if of[0] in _WITH_PODS]
    spec = KINDS[kind, name].get("spec", {})
    selector = spec.get("selector") or spec.get("podSelector")
    if selector:
        assert selector.get("matchLabels", selector) in labels
    if target := spec.get("scaleTargetRef"):
        assert (target["kind"], target["name"]) in KINDS


_WITH_PODS = ("Deployment", "StatefulSet")


def test_no_redis_evicts_what_it_keeps() -> None:
    commands = [COMPOSE["services"]["redis"]["command"]]
    commands += [each["command"] for each in KINDS["StatefulSet", "redis"]["spec"]["template"]["spec"]["containers"]]
    assert [command[-2:] for command in commands] == [["--maxmemory-policy", "noeviction"]] * 2


def test_servers_name_the_redis_that_there_is() -> None:
    host, port = re.fullmatch(r"redis://(\w+):(\d+)/0", _REDIS).groups()  # type: ignore[union-attr]
    assert host in COMPOSE["services"]
    (served,) = KINDS["Service", host]["spec"]["ports"]
    assert str(served["port"]) == port
