"""Writes a container image, as `docker save` does, without a daemon: image.py BINARY VERSION ARCH FILE.

    manifest.json    names the two below
    CONFIG.json      user, volume, entry point, health check
    LAYER.tar        the one layer: /usr/bin/vlflab, /etc/passwd, /etc/group, /tmp, /data

The time of everything is SOURCE_DATE_EPOCH, so the same binary gives the same bytes.
"""

import hashlib
import io
import json
import os
import sys
import tarfile
import time

USER = 65532
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
SECOND_NS = 1_000_000_000


def add_link(tar, name, target):
    """A symbolic link."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mode, entry.mtime = tarfile.SYMTYPE, target, 0o777, EPOCH
    tar.addfile(entry)


def add(tar, name, data=None, mode=0o644, owner=0):
    """A file, or a folder where there is no data."""
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime, entry.uid, entry.gid = mode, EPOCH, owner, owner
    if data is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    else:
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def layer(binary):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        add(tar, "data", mode=0o700, owner=USER)
        add(tar, "etc", mode=0o755)
        add(tar, "etc/group", f"root:x:0:\nvlflab:x:{USER}:\n".encode())
        add(tar, "etc/passwd", f"root:x:0:0::/:/\nvlflab:x:{USER}:{USER}::/data:/\n".encode())
        add(tar, "tmp", mode=0o1777)
        add(tar, "usr", mode=0o755)
        add(tar, "usr/bin", mode=0o755)
        add(tar, "usr/bin/vlflab", binary, mode=0o755)
    return buffer.getvalue()


OWN = {
    "User": f"{USER}:{USER}",
    "Entrypoint": ["/usr/bin/vlflab"],
    # A volume may come with files of its file system, such as lost+found; an instance wants a folder of its own.
    "Cmd": ["serve", "--bind", "0.0.0.0", "--data", "/data/instance"],
    "Volumes": {"/data": {}},
    "WorkingDir": "/data",
}


def configuration(version, arch, digest, own, script):
    """What an image says of itself; `own` is what the two images differ in."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    return {
        "architecture": arch,
        "os": "linux",
        "created": created,
        "config": {
            **own,
            "ExposedPorts": {"1433/tcp": {}},
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/vlflab", "health", "--server", "127.0.0.1,1433"],
                "Interval": 10 * SECOND_NS,
                "Timeout": 5 * SECOND_NS,
                "StartPeriod": 60 * SECOND_NS,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "vlflab",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": created, "created_by": script}],
    }


def write(target, named, bytes_of_layer, own, script):
    """The image as a file; `named` is its name, version and machine."""
    name, version, arch = named
    digest = hashlib.sha256(bytes_of_layer).hexdigest()
    config = json.dumps(configuration(version, arch, digest, own, script), separators=(",", ":"), sort_keys=True).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [f"{name}:{version}"], "Layers": [f"{digest}.tar"]}]
    with tarfile.open(target, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        add(tar, config_name, config)
        add(tar, f"{digest}.tar", bytes_of_layer)
        add(tar, "manifest.json", json.dumps(manifest).encode())


def main():
    source, version, arch, target = sys.argv[1:]
    with open(source, "rb") as file:
        write(target, ("vlflab", version, arch), layer(file.read()), OWN, "packaging/container")


if __name__ == "__main__":
    main()
