"""What is in `deploy/`: manifests that Kubernetes takes, an image without rights, probes and hooks that exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from onward.cli.main import COMMANDS
from onward.model.nodes import Plan
from onward.store.locate import VARIABLE

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents() -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text("utf-8"))]


def pods() -> Iterator[Any]:
    for document in documents():
        if document["kind"] in ("Job", "Deployment"):
            yield pytest.param(document["spec"]["template"]["spec"], id=document["kind"])


PODS = list(pods())


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [found] = pod["containers"]
    return dict(found)


def test_there_is_what_is_needed() -> None:
    assert [document["kind"] for document in documents()] == ["Deployment", "ConfigMap", "Job", "PersistentVolumeClaim"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_takes_them(path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    for document in yaml.safe_load_all(path.read_text("utf-8")):
        validate.validate(document, validate.latest_version(), strict=True)


@pytest.mark.parametrize("pod", PODS)
def test_the_grace_of_a_pod_is_longer_than_that_of_a_workflow(pod: dict[str, Any]) -> None:
    usual = Plan.__struct_defaults__[Plan.__struct_fields__.index("grace_s") - len(Plan.__struct_fields__)]
    assert pod["terminationGracePeriodSeconds"] >= usual + 5


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_has_no_rights(pod: dict[str, Any]) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    context = container(pod)["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    user = re.search(r"^USER (\d+):(\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert user is not None
    assert int(user[1]) == pod["securityContext"]["runAsUser"] != 0
    assert int(user[2]) == pod["securityContext"]["fsGroup"]


@pytest.mark.parametrize("pod", PODS)
def test_runs_live_on_the_volume_that_is_claimed(pod: dict[str, Any]) -> None:
    [claim] = [document["metadata"]["name"] for document in documents() if document["kind"] == "PersistentVolumeClaim"]
    [volume] = [one["name"] for one in pod["volumes"] if "persistentVolumeClaim" in one]
    assert {one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"] if one["name"] == volume} == {claim}
    [mount] = [one["mountPath"] for one in container(pod)["volumeMounts"] if one["name"] == volume]
    environment = {one["name"]: one["value"] for one in container(pod)["env"]}
    assert environment[VARIABLE].startswith(f"{mount}/")
    assert container(pod)["workingDir"] == mount
    assert {one["name"] for one in container(pod)["volumeMounts"]} == {one["name"] for one in pod["volumes"]}


@pytest.mark.parametrize("pod", PODS)
def test_probes_and_hooks_call_what_exists(pod: dict[str, Any]) -> None:
    found = container(pod)
    live, ready = (found[f"{what}Probe"]["exec"]["command"] for what in ("liveness", "readiness"))
    assert (live[:3], ready[:3]) == (["onward", "probe", "live"], ["onward", "probe", "ready"])
    assert "probe" in COMMANDS
    assert found["lifecycle"]["preStop"]["exec"]["command"] == ["onward-pod", "--snapshot"]
    assert found["command"][0] == "onward-pod"
    assert (DEPLOY / "onward-pod").stat().st_mode & 0o111
    assert "resume --all --reason shutdown" in (DEPLOY / "onward-pod").read_text()


def test_one_pod_at_a_time(tmp_path: Path) -> None:
    by_kind = {document["kind"]: document.get("spec", {}) for document in documents()}
    assert by_kind["Deployment"]["strategy"] == {"type": "Recreate"}
    assert by_kind["Deployment"]["replicas"] == 1
    assert by_kind["Job"]["podReplacementPolicy"] == "Failed"
    assert by_kind["Job"]["template"]["spec"]["restartPolicy"] == "Never"


def test_the_workflow_of_the_example_can_be_used(tmp_path: Path) -> None:
    import sys

    [config] = [document for document in documents() if document["kind"] == "ConfigMap"]
    for name, text in config["data"].items():
        (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "onward", "check", name]
        subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True)


def test_the_script_is_a_script_of_any_shell() -> None:
    subprocess.run(["sh", "-n", str(DEPLOY / "onward-pod")], timeout=30, check=True)


def test_the_image_is_made_of_files_that_are_there() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    copied = [line.split() for line in text.splitlines() if line.startswith("COPY") and "--from" not in line]
    names = [word for line in copied for word in line[1:-1] if not word.startswith("--")]
    assert [name for name in names if not (DEPLOY.parent / name).exists()] == []
    assert 'ENTRYPOINT ["onward"]' in text
