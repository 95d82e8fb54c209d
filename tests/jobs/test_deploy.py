"""cluster.yaml, the image and the job for Kubernetes, as far as they run without AWS, Docker and Kubernetes."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from jobs.engine.machines import configured_kinds, cores_for
from tests.conftest import ROOT

Document = dict[str, Any]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # seconds faster
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)


def load(name: str) -> Document:
    return dict(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")))


# --- AWS ---


CLUSTERS = ("cluster.yaml", "cluster-h100.yaml")
MACHINES = {"g6.4xlarge": (16, 1), "p5.48xlarge": (192, 8)}  # cores and GPUs, as AWS lists them
SPOT = "# InstanceMarketOptions: "


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_file_passes_rays_own_check_also_with_its_options(name: str) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(load(name)))
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.count(SPOT) == 2
    spot = yaml.safe_load(text.replace(SPOT, SPOT.removeprefix("# ")))
    validate_config(prepare_config(spot))
    kinds = {kind: set(found["node_config"]) for kind, found in spot["available_node_types"].items()}
    assert {kind for kind, keys in kinds.items() if "InstanceMarketOptions" in keys} == {"cpu", "gpu"}


def test_the_cluster_of_h100s_differs_in_its_gpus_alone() -> None:
    plain, large = map(load, CLUSTERS)
    assert plain.pop("cluster_name") != large.pop("cluster_name")
    gpu, h100 = (cluster["available_node_types"].pop("gpu") for cluster in (plain, large))
    assert plain == large
    for cluster in (gpu, h100):
        # Both clusters have the same number of GPUs, which is the one in the documented commands.
        assert cluster["max_workers"] * MACHINES[cluster["node_config"].pop("InstanceType")][1] == 8
    assert gpu["node_config"] == h100["node_config"]


def test_what_cluster_yaml_sends_is_what_the_environment_is_made_from() -> None:
    mounts = load("cluster.yaml")["file_mounts"]
    sent = {there.removeprefix("~/neuron-atlas/"): here for there, here in mounts.items() if "neuron-atlas" in there}
    assert set(sent) == set(sent.values()) == {"pyproject.toml", "constraints.txt", *PROJECT["license-files"]}
    assert all((ROOT / name).is_file() for name in sent)


# A fake ssh: it runs the command here, in the home folder of the machine with that address.
SSH = """#!/bin/bash
while [[ $1 != *@* ]]; do shift; done
[[ "${*:2:4}" == "bash --login -c -i" ]] || exit 99
export HOME=$MACHINES/${1#*@}
mkdir -p "$HOME" && cd "$HOME" && touch .bashrc
eval "bash -c ${*:6}"
"""
RSYNC = """#!/bin/bash
to=${!#} from=${@: -2:1}
at=${to%%:*}
cp -p "$from" "${to/#*:\\~/$MACHINES/${at#*@}}"
"""
# Ubuntu's, which makes environments of nothing but what notes how it was called.
PYTHON = """#!/bin/bash
[[ "$1 $2" == "-m venv" ]] && mkdir -p "$3/bin" && for tool in pip python ray; do cp "$STANDINS/ray" "$3/bin/$tool"
done
"""
NOTED = """#!/bin/bash
echo "$(basename "$0") $* [in $PWD, auth $RAY_AUTH_MODE, token $(stat -c %a ~/.ray/auth_token),\\
 resources $RAY_OVERRIDE_RESOURCES]" >> ~/noted
"""

# What the head's autoscaler does when work asks for a machine of each kind, and when it asks no more.
AUTOSCALER = """
import json, os, sys
import boto3
from ray.autoscaler._private.aws.node_provider import AWSNodeProvider
from ray.autoscaler.v2.instance_manager.config import FileConfigReader
from ray.autoscaler.v2.instance_manager.node_provider import NodeProviderAdapter
from ray.autoscaler.v2.instance_manager.ray_installer import RayInstaller
from ray.core.generated.instance_manager_pb2 import Instance

asked = set()
boto3.setup_default_session()
note = lambda model, **_: asked.add(f"{model.service_model.service_name}:{model.name}")
boto3.DEFAULT_SESSION.events.register("before-call", note)
reader = FileConfigReader(os.path.expanduser("~/ray_bootstrap_config.yaml"), skip_content_hash=False)
config = reader.get_cached_autoscaling_config()
provider = AWSNodeProvider(config.get_config("provider"), config.get_config("cluster_name"))
adapter = NodeProviderAdapter(provider, reader)
found = {}
for kind in ("cpu", "gpu"):
    adapter._launch_nodes_by_type(kind, 1, "request")
    [node] = [n for n, i in adapter.get_non_terminated().items() if i.node_type == kind]
    RayInstaller(provider, config).install_ray(Instance(cloud_instance_id=node, instance_type=kind), "10.0.0.1")
    machine = provider.ec2.Instance(node)
    found[kind] = [machine.private_ip_address, machine.image_id, machine.iam_instance_profile["Arn"]]
    provider.terminate_node(node)
assert not adapter.poll_errors()
print(json.dumps([found, sorted(asked)]))
"""


def resolved(part: Any, values: dict[str, str]) -> Any:
    """A part of a CloudFormation template with its references filled in."""
    if isinstance(part, list):
        return [resolved(item, values) for item in part]
    if not isinstance(part, dict):
        return part
    match list(part.items()):
        case [("Ref", name)]:
            return values[name]
        case [("Fn::GetAtt", [name, attribute])]:
            return values[f"{name}.{attribute}"]
        case [("Fn::Sub", text)]:
            return re.sub(r"\$\{([\w:]+)\}", lambda found: values[found[1]], text)
        case items:
            return {key: resolved(value, values) for key, value in items}


def make_roles(iam: Any) -> Document:
    """Make what deploy/aws-roles.yaml asks for, and return it with its references filled in."""
    text = (ROOT / "deploy/aws-roles.yaml").read_text(encoding="utf-8")
    assert not any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))  # which CloudFormation refuses
    resources = load("deploy/aws-roles.yaml")["Resources"]
    values = {"AWS::Partition": "aws", "Bucket": "a-bucket"}
    for name, resource in resources.items():
        if resource["Type"] == "AWS::IAM::Role":
            role = {n: v for n, v in resource["Properties"].items() if n != "Policies"}
            policy = json.dumps(role["AssumeRolePolicyDocument"])
            made = iam.create_role(**{**role, "AssumeRolePolicyDocument": policy})["Role"]
            values |= {name: made["RoleName"], f"{name}.Arn": made["Arn"]}
    resources = dict(resolved(resources, values))
    for resource in resources.values():
        given = resource["Properties"]
        match resource["Type"]:
            case "AWS::IAM::Role":
                for policy in given.get("Policies", []):
                    document = json.dumps(policy["PolicyDocument"])
                    name = policy["PolicyName"]
                    iam.put_role_policy(RoleName=given["RoleName"], PolicyName=name, PolicyDocument=document)
            case "AWS::IAM::ManagedPolicy":
                document = json.dumps(given["PolicyDocument"])
                arn = iam.create_policy(PolicyName="storage", PolicyDocument=document)["Policy"]["Arn"]
                for role in given["Roles"]:
                    iam.attach_role_policy(RoleName=role, PolicyArn=arn)
            case "AWS::IAM::InstanceProfile":
                name = given["InstanceProfileName"]
                iam.create_instance_profile(InstanceProfileName=name)
                [role] = given["Roles"]
                iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=role)
            case other:
                raise AssertionError(other)
    return resources


@pytest.mark.slow
def test_ray_up_and_its_autoscaler_against_a_stand_in_for_aws(s3: str, tmp_path: Path) -> None:
    import boto3

    region = load("cluster.yaml")["provider"]["region"]
    iam = boto3.client("iam", region, endpoint_url=s3)
    ec2 = boto3.client("ec2", region, endpoint_url=s3)
    roles = make_roles(iam)
    profiles = [given["InstanceProfileName"] for given in iam.list_instance_profiles()["InstanceProfiles"]]

    home, machines, standins = (tmp_path / name for name in ("home", "machines", "standins"))
    for folder in (home, machines, standins, tmp_path / "tmp"):
        folder.mkdir()
    for name, text in {"ssh": SSH, "rsync": RSYNC, "python3": PYTHON, "ray": NOTED}.items():
        (standins / name).write_text(text)
        (standins / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env |= {"MACHINES": str(machines), "STANDINS": str(standins), "TMPDIR": str(tmp_path / "tmp"), "TERM": "dumb"}
    env |= {"PATH": f"{standins}{os.pathsep}{env['PATH']}", "AWS_ENDPOINT_URL": s3}

    def run(where: Path, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env={**env, "HOME": str(where)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    ray = ("-m", "ray.scripts.scripts")
    (home / ".ray").mkdir()
    (home / ".ray/auth_token").touch(0o600)
    (home / ".ray/auth_token").write_text("0123456789abcdef" * 4)
    run(home, *ray, "up", "--yes", "cluster.yaml")
    [running] = ec2.describe_instances(Filters=[{"Name": "tag:ray-node-type", "Values": ["head"]}])["Reservations"]
    [head] = running["Instances"]
    head_home = machines / head["PublicIpAddress"]
    workers, asked = json.loads(run(head_home, "-c", AUTOSCALER).splitlines()[-1])

    # On the head a job can tell what machines may come.
    monitor = [
        "monitor.py",
        "--gcs-address=10.0.0.1:6379",
        f"--autoscaling-config={head_home}/ray_bootstrap_config.yaml",
    ]
    kinds = configured_kinds("10.0.0.1:6379", [monitor])
    assert {kind: (has["CPU"], has.get("GPU", 0)) for kind, has in kinds.items()} == {"cpu": (32, 0), "gpu": (12, 1)}
    # Less than 64 GB a machine are the workers', for 32 cores: a worker of 6.5 GB holds more than three of them.
    assert 3 < cores_for(6_500_000_000, kinds.values()) < 8
    run(home, *ray, "down", "--yes", "cluster.yaml")

    # Each machine has its role, and there are no others.
    found = {"head": [head["PublicIpAddress"], head["ImageId"], head["IamInstanceProfile"]["Arn"]], **workers}
    for kind, (_, image, profile) in found.items():
        assert profile.endswith(f":instance-profile/neuron-atlas-{'head' if kind == 'head' else 'worker'}")
        assert re.match(r"resolve:ssm:/aws/service/deeplearning/ami/x86_64/[\w-]*ubuntu-24.04/", image)
    assert profiles == [given["InstanceProfileName"] for given in iam.list_instance_profiles()["InstanceProfiles"]]

    # Each has the token and the environment, and starts Ray with both; the head places no work on itself.
    for kind, (address, _, _) in found.items():
        place = machines / address
        lines = (place / "noted").read_text().splitlines()
        installed = [line for line in lines if line.startswith("pip ")]
        assert installed
        for line in installed:
            assert line.startswith(f"pip install -q -c constraints.txt .[cluster] [in {place}/neuron-atlas,")
        [start] = [line for line in lines if line.startswith("ray start ")]
        assert start.startswith("ray start --head " if kind == "head" else "ray start --address=10.0.0.1:6379 ")
        assert ", auth token, token 600, " in start
        resources = json.loads(start.partition(" resources ")[2].removesuffix("]"))
        assert resources.get("GPU", 0) == (kind == "gpu")
        assert resources["CPU"] == {"head": 0, "cpu": 32, "gpu": 12}[kind]
        assert (place / ".bashrc").read_text() == "export PATH=~/atlas/bin:$PATH RAY_AUTH_MODE=token\n"

    # The head's role may do what its autoscaler asks for, and hand on the workers' role and no other.
    [policy] = roles["Head"]["Properties"]["Policies"]
    statements = policy["PolicyDocument"]["Statement"]
    allowed = [
        action for statement in statements for action in statement["Action"] if isinstance(statement["Action"], list)
    ]
    assert "ec2:RunInstances" in asked
    assert all(any(fnmatch(action, pattern) for pattern in allowed) for action in asked), asked
    [handed] = [statement["Resource"] for statement in statements if statement["Action"] == "iam:PassRole"]
    assert handed.endswith(":role/neuron-atlas-worker")


# --- Kubernetes ---


def strict(schema: Any) -> Any:
    """Return a custom resource's schema as one that refuses unknown fields, which Kubernetes drops silently."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: part for key, part in schema.items() if not key.startswith("x-kubernetes-") and key != "properties"}
    found = {key: strict(part) if key in ("items", "additionalProperties") else part for key, part in found.items()}
    if "properties" in schema:
        found["properties"] = {name: strict(part) for name, part in schema["properties"].items()}
    if schema.get("x-kubernetes-int-or-string"):
        found.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
        found.setdefault("additionalProperties", False)
    if schema.get("nullable"):
        found = {"anyOf": [{"type": "null"}, found]}
    return found


def documents() -> tuple[Document, Document]:
    """The service account and the job of deploy/rayjob.yaml."""
    account, job = yaml.safe_load_all((ROOT / "deploy/rayjob.yaml").read_text(encoding="utf-8"))
    return account, job


def pods() -> dict[str, Document]:
    cluster = documents()[1]["spec"]["rayClusterSpec"]
    groups = {group["groupName"]: group for group in cluster["workerGroupSpecs"]}
    return {name: group["template"]["spec"] for name, group in {"head": cluster["headGroupSpec"], **groups}.items()}


@pytest.fixture(scope="module")
def validator(test_data: Path) -> Any:
    path = test_data / "schemas/ray.io_rayjobs.yaml"
    if not path.is_file():
        pytest.skip("no schema of RayJob there")
    versions = {v["name"]: v for v in yaml.load(path.read_bytes(), LOADER)["spec"]["versions"]}
    schema = strict(versions["v1"]["schema"]["openAPIV3Schema"])
    # Kubernetes itself knows what is in an object's metadata.
    schema["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.slow
def test_the_job_is_one_that_kubernetes_takes(validator: Any) -> None:
    job = documents()[1]
    problems = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(job)]
    assert not problems
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["replicass"] = 1
    assert not validator.is_valid(job), "a misspelled field is refused"


def test_rays_autoscaler_reads_the_job_as_meant() -> None:
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr

    job = documents()[1]
    resource = {"metadata": {"name": "cluster", "namespace": "default"}, "spec": job["spec"]["rayClusterSpec"]}
    kinds = _derive_autoscaling_config_from_ray_cr(resource)["available_node_types"]
    assert {
        name: (kind["min_workers"], kind["max_workers"], kind["resources"]["CPU"], kind["resources"].get("GPU", 0))
        for name, kind in kinds.items()
    } == {"headgroup": (0, 0, 0, 0), "cpu": (0, 8, 16, 0), "gpu": (0, 8, 6, 1)}


def test_documented_jobs_name_their_gpus_since_none_is_up_at_first() -> None:
    from jobs.options.command_line import parse
    from jobs.run.job import RunConfig

    text = (ROOT / "docs/cluster.md").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "python -m jobs.run" in line]
    assert len(lines) == 2
    for line in [documents()[1]["spec"]["entrypoint"], *lines]:
        config = parse(RunConfig, "run", "", shlex.split(line.partition("python -m jobs.run ")[2]))
        assert (config.device, config.gpus, config.out[:5]) == ("cuda", 8, "s3://")


# --- The image ---


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_versions_agree() -> None:
    python = re.fullmatch(r"python:(3\.\d+)-slim", dict(instructions())["FROM"])
    assert python
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[0]
    assert pinned.endswith(f"as resolved on Python {python[1]}.")
    assert documents()[1]["spec"]["rayClusterSpec"]["rayVersion"] == PINS["ray"]
    images = {container["image"] for pod in pods().values() for container in pod["containers"]}
    assert images == {f"REGISTRY/neuron-atlas:{PROJECT['version']}"}
    for wanted in [*PROJECT["optional-dependencies"]["cluster"], *PROJECT["dependencies"]]:
        assert re.match(r"[\w-]+", wanted)[0] in PINS  # type: ignore[index]


@pytest.mark.slow
def test_what_the_image_copies_is_enough(tmp_path: Path) -> None:
    image = tmp_path / "opt/neuron-atlas"
    assert dict(instructions())["WORKDIR"] == "/opt/neuron-atlas"
    for kind, told in instructions():
        if kind == "COPY":
            *sources, target = told.split()
            for source in sources:
                if (ROOT / source).is_dir():
                    left = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / source, image / target, ignore=left, dirs_exist_ok=True)
                else:
                    (image / target).mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, image / target)
        if kind == "RUN" and "pip install" in told:
            # The files that define the environment are there by then.
            assert all(
                (image / name).is_file() for name in ("pyproject.toml", "constraints.txt", *PROJECT["license-files"])
            )
    settings = dict(told.split("=", 1) for kind, told in instructions() if kind == "ENV")
    assert settings["PYTHONPATH"] == "/opt/neuron-atlas"
    everything = """
import importlib, pathlib, jobs, ops
for package in (jobs, ops):
    root = pathlib.Path(package.__file__).parent
    files = [path for path in root.rglob("*.py") if path.name not in ("__init__.py", "__main__.py")]
    assert len(files) > 60, "the folders of jobs have no __init__.py"
    for path in files:
        name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        assert importlib.import_module(name).__file__.startswith(%r), name
from ops.sentences.pipeline import load_pipeline
load_pipeline("english")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", everything % str(image)], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(image)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
