"""Joins images as `docker save` writes them into one OCI archive with an image for each machine: join.py IMAGE.tar... FILE.

    oci-layout            the version of the format
    index.json            names the list of images, by the images' own name
    blobs/sha256/DIGEST   the list of images, and of each its manifest, its configuration and its layers, compressed

The formats are those of the OCI image specification 1.0 (image-layout.md, image-index.md, manifest.md). An archive has the layers
compressed, which the digests of a configuration (`diff_ids`) do not depend on. The time of everything is SOURCE_DATE_EPOCH.
"""

import gzip
import hashlib
import json
import sys
import tarfile

from image import add

KIND = "application/vnd.oci.image."


class Archive:
    """The blobs of an archive, by their digests."""

    def __init__(self):
        self.blobs = {}

    def put(self, kind, data):
        """Keeps a blob once; answers how others name it."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": KIND + kind, "digest": f"sha256:{digest}", "size": len(data)}

    def put_json(self, kind, value):
        return self.put(kind, json.dumps(value, separators=(",", ":"), sort_keys=True).encode())

    def write(self, target, index):
        with tarfile.open(target, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for folder in ["blobs", "blobs/sha256"]:
                add(tar, folder, mode=0o755)
            for digest, data in sorted(self.blobs.items()):
                add(tar, f"blobs/sha256/{digest}", data)
            add(tar, "index.json", json.dumps(index, sort_keys=True).encode())
            add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')


def read_image(path):
    """Name, configuration and layers of an image."""
    with tarfile.open(path) as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json"))
        configuration = json.load(tar.extractfile(manifest["Config"]))
        layers = [tar.extractfile(layer).read() for layer in manifest["Layers"]]
    found = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]
    if found != configuration["rootfs"]["diff_ids"]:
        sys.exit(f"{path}: its layers are not those that its configuration names")
    return manifest["RepoTags"][0], configuration, layers


def image_of(archive, configuration, layers):
    """Keeps an image; answers how the list names it, with its machine."""
    # Not in the format; an engine would drop it and with it the digest.
    configuration["config"].pop("Healthcheck", None)
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{KIND}manifest.v1+json",
        "config": archive.put_json("config.v1+json", configuration),
        "layers": [archive.put("layer.v1.tar+gzip", gzip.compress(layer, 9, mtime=0)) for layer in layers],
    }
    platform = {"architecture": configuration["architecture"], "os": configuration["os"]}
    return archive.put_json("manifest.v1+json", manifest) | {"platform": platform}


def main():
    *sources, target = sys.argv[1:]
    archive, images, names = Archive(), [], set()
    for source in sources:
        name, configuration, layers = read_image(source)
        names.add(name)
        images.append(image_of(archive, configuration, layers))
    if len(names) != 1:
        sys.exit(f"images of different names cannot be one: {', '.join(sorted(names))}")
    both = archive.put_json("index.v1+json", {"schemaVersion": 2, "mediaType": f"{KIND}index.v1+json", "manifests": images})
    annotations = {"org.opencontainers.image.ref.name": names.pop()}
    archive.write(target, {"schemaVersion": 2, "manifests": [both | {"annotations": annotations}]})


if __name__ == "__main__":
    main()
