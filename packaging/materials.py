"""Prints the bill of materials of the binary as CycloneDX 1.5 JSON: every crate that is compiled into it, with its licence and checksum.

    materials.py TARGET                         the machine as Rust calls it
    materials.py TARGET NAME VERSION LICENCE    with a program that lies beside it in an image

Reads `cargo metadata` and Cargo.lock. Crates that only build or test something are not in the binary and not in the list.
"""

import json
import subprocess
import sys
import tomllib


def compiled_in(metadata):
    """Ids of the packages that the program links, itself first."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    program = next(package["id"] for package in metadata["packages"] if package["name"] == "vlflab")
    found, waiting = [], [program]
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        found.append(package)
        for dependency in nodes[package]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found


def component(package, checksums):
    name, version = package["name"], package["version"]
    entry = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package["license"]:
        # The older way to write OR.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := checksums.get((name, version)):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def main():
    target, *beside = sys.argv[1:]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    with open("Cargo.lock", "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    packages = {package["id"]: package for package in metadata["packages"]}
    program, *libraries = compiled_in(metadata)
    components = sorted((component(packages[library], checksums) for library in libraries), key=lambda entry: entry["bom-ref"])
    if beside:
        name, version, licence = beside
        entry = {"type": "application", "bom-ref": f"pkg:deb/debian/{name}@{version}", "name": name, "version": version}
        components.append(entry | {"purl": entry["bom-ref"], "licenses": [{"expression": licence}]})
    of_program = component(packages[program], checksums)
    of_program["type"] = "application"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": of_program},
        "components": components,
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
