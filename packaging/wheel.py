"""Writes a wheel that holds one binary: wheel.py BINARY VERSION PLATFORM DIR. Prints the wheel's path.

    vlflab-VERSION.data/scripts/vlflab       pip puts it on the path
    vlflab-VERSION.dist-info/METADATA, WHEEL, RECORD

The form is that of "Binary distribution format" in the Python packaging user guide.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

# The zip format has no times before 1980.
MOMENT = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315_532_800))[:6]


def main():
    binary, version, platform, folder = sys.argv[1:]
    tag = f"py3-none-{platform}"
    information = f"vlflab-{version}.dist-info"
    readme = pathlib.Path("README.md").read_text()
    metadata = (
        f"Metadata-Version: 2.1\nName: vlflab\nVersion: {version}\n"
        "Summary: T-SQL server and lab for SQL Server's virtual log files\n"
        "License: MIT OR Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n" + readme
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: packaging/wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = [
        (f"vlflab-{version}.data/scripts/vlflab", pathlib.Path(binary).read_bytes(), 0o755),
        (f"{information}/LICENSE-APACHE", pathlib.Path("LICENSE-APACHE").read_bytes(), 0o644),
        (f"{information}/LICENSE-MIT", pathlib.Path("LICENSE-MIT").read_bytes(), 0o644),
        (f"{information}/METADATA", metadata.encode(), 0o644),
        (f"{information}/WHEEL", wheel.encode(), 0o644),
    ]
    record = ""
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files.append((f"{information}/RECORD", f"{record}{information}/RECORD,,\n".encode(), 0o644))
    path = pathlib.Path(folder) / f"vlflab-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
