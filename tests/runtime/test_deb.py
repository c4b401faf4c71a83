#!/usr/bin/env python3
"""The Debian package: its files work where they are unpacked, and it depends on the packages of all that they are linked
against.

    tests/runtime/test_deb.py BUILD

Skipped (status 77) without dpkg-deb, dpkg-shlibdeps (dpkg-dev) or file."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def packages_of(binary):
    """Debian packages of the libraries that a binary asks for by itself."""
    needed = re.findall(r"NEEDED.*\[(.*?)\]", run("readelf", "-d", binary))
    paths = dict(re.findall(r"(\S+) => (\S+)", run("ldd", binary)))
    packages = set()
    for name in needed:
        path = paths.get(name, "")
        if not path or name.startswith("libtegula"):
            continue
        for candidate in [path, path.removeprefix("/usr"), os.path.realpath(path)]:
            found = subprocess.run(["dpkg", "-S", candidate], capture_output=True, text=True, check=False)
            if not found.returncode:
                packages.add(found.stdout.split(":")[0])
                break
        else:
            sys.exit(f"{binary}: no package has {path}")
    return packages


def main():
    missing = [name for name in ["dpkg-deb", "dpkg-shlibdeps", "file", "readelf"] if not shutil.which(name)]
    if missing:
        print("skipped: not here: " + ", ".join(missing) + " (Debian's dpkg-dev, file and binutils)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        run("cpack", "--config", os.path.abspath(sys.argv[1]) + "/CPackConfig.cmake", "-B", folder + "/package",
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", cwd=folder)
        package, = glob.glob(folder + "/package/*.deb")
        run("dpkg-deb", "-x", package, folder + "/root")
        command, library = folder + "/root/usr/bin/tegula", glob.glob(folder + "/root/usr/lib/**/libtegula.so.?", recursive=True)[0]
        depends = {one.split()[0] for one in run("dpkg-deb", "-f", package, "Depends").split(", ")}
        lacking = (packages_of(command) | packages_of(library)) - depends
        if lacking:
            sys.exit(f"the package depends on {sorted(depends)}, its programs on {sorted(lacking)}, too")
        run(command, "zoo", "gemm", "-q", "--m", "9", "--n", "7", "--k", "5", "-o", folder + "/gemm.onnx")
        run(command, "run", folder + "/gemm.onnx", "--arch", "tiny", "-q")
        python = glob.glob(folder + "/root/usr/lib/python3/dist-packages")[0]
        run(sys.executable, "-c", "import sys, tegula; tegula.compile(sys.argv[1], arch='tiny').run(random_inputs=1)",
            folder + "/gemm.onnx", env={**os.environ, "PYTHONPATH": python})
        for path in ["/share/man/man1/tegula-run.1", "/share/doc/tegula/copyright", "/include/tegula/runtime/tegula.h"]:
            if not os.path.exists(folder + "/root/usr" + path):
                sys.exit(f"the package lacks {path}")
        print(f"{os.path.basename(package)}: {os.path.getsize(package)} bytes, depends on {len(depends)} packages")


main()
