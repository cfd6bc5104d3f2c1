"""Runs the image as a container's description says, without a container engine.

Arguments: the description (of Compose or of Kubernetes), and the directory of the image's files. The command gets the
user of the description and no capabilities, the machine's processes, a network of its own, and a token if it asks for
one.
"""

import ctypes
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

import yaml

ENVIRONMENT = {"PATH": "/usr/bin", "PERFSET_PROC": "/host/proc", "PERFSET_SYS": "/host/sys"}
ADDRESS = "http://127.0.0.1:9182/metrics"
TOKEN = "a-token-of-a-test-0123456789abcdef"
NODE = "192.0.2.7"
LAST_CAPABILITY = 63
PR_CAPBSET_DROP = 24


def described(path):
    """Arguments of the command, directories that are mounted, user and group."""
    with open(path, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    if "services" in document:
        (service,) = document["services"].values()
        assert service["network_mode"] == service["pid"] == "host", service
        assert service["cap_drop"] == ["ALL"], service
        user, group = service["user"].split(":")
        return service["command"], [mount.split(":")[1] for mount in service["volumes"]], int(user), int(group)
    pod = document["spec"]["template"]["spec"]
    assert pod["hostNetwork"] and pod["hostPID"], pod
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    rights = container["securityContext"]
    assert rights["capabilities"]["drop"] == ["ALL"], rights
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert not rights["allowPrivilegeEscalation"], rights
    return container["args"], mounts, rights["runAsUser"], 0


def enter(root, user, group):
    """Makes this process the container's, which has no capabilities."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for those that the kernel does not know
    os.setgid(group)
    os.setuid(user)


def metrics(token=None):
    request = urllib.request.Request(ADDRESS, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def first_metrics(token, server):
    end = time.monotonic() + 20
    while True:
        try:
            return metrics(token)
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.05)


def inside(path, root):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{NODE}/32", "dev", "lo"], check=True)
    arguments, mounts, *rights = described(path)
    assert {"/host/proc", "/host/sys"} <= set(mounts), mounts
    # Engines give each container /proc and /dev.
    for name, place in [("proc", "host/proc"), ("sys", "host/sys"), ("proc", "proc"), ("dev", "dev")]:
        os.makedirs(f"{root}/{place}", exist_ok=True)
        subprocess.run(["mount", "--bind", f"/{name}", f"{root}/{place}"], check=True)
    token = None
    if "--token-file" in arguments:
        token, file = TOKEN, arguments[arguments.index("--token-file") + 1]
        assert os.path.dirname(file) in mounts, file
        os.makedirs(os.path.dirname(root + file), exist_ok=True)
        with open(root + file, "w", encoding="utf-8") as out:
            out.write(token)
        os.chmod(root + file, 0o400)
    command = ["/usr/bin/perfset", *arguments]
    with subprocess.Popen(command, env=ENVIRONMENT, preexec_fn=lambda: enter(root, *rights)) as server:
        try:
            text = first_metrics(token, server)
            for name in ["perf_system_context_switches_total", "perf_memory_available_bytes", "perf_network_interface_"]:
                assert f"\n{name}" in text, f"no {name}"
            if token:
                try:
                    metrics()
                    raise AssertionError("the metrics are there without the token")
                except urllib.error.HTTPError as error:
                    assert error.code == 401, error
                # As the node asks a pod whether it is ready.
                with urllib.request.urlopen(f"http://{NODE}:9182/healthz", timeout=20) as answer:
                    assert answer.status == 200, answer.status
        finally:
            server.terminate()
    assert server.returncode == 0, server.returncode


if __name__ == "__main__":
    if "inside" in os.environ:
        inside(*sys.argv[1:])
    else:
        namespaces = ["unshare", "--mount", "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.run(namespaces, env=os.environ | {"inside": "1"}, timeout=120, check=False).returncode)
