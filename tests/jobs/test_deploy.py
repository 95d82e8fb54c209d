"""cluster.yaml, as far as it runs without AWS."""

import json
import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

Document = dict[str, Any]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def load(name: str) -> Document:
    return dict(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")))


def test_cluster_yaml_passes_rays_own_check() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(load("cluster.yaml")))


def test_what_cluster_yaml_sends_is_what_the_environment_is_made_from() -> None:
    mounts = load("cluster.yaml")["file_mounts"]
    sent = {there.removeprefix("~/neuron-atlas/"): here for there, here in mounts.items() if "neuron-atlas" in there}
    assert set(sent) == set(sent.values()) == {"pyproject.toml", "constraints.txt", *PROJECT["license-files"]}
    assert all((ROOT / name).is_file() for name in sent)


# Stands for a connection: what it is told runs here, in the home of the machine of that address.
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
    run(home, *ray, "down", "--yes", "cluster.yaml")

    # Each has its role, and none was made besides.
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
        assert (resources["CPU"] == 0) == (kind == "head")
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
