"""Machine code against the tags: ELF needs, architecture, search paths, stable ABI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.wheels.elf import read_elf
from tests.harness.wheels.conftest import Auditor, codes
from tests.harness.wheels.elf_factory import AARCH64, SharedObject, extension
from tests.harness.wheels.wheel_factory import WheelSpec, first_party

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


def wheel(elf: bytes, **changes: Any) -> WheelSpec:
    return first_party("kv-router", extension=elf, **changes)


def test_sound_extension_is_clean(findings: Auditor) -> None:
    assert findings(wheel(extension()), first_party=("kv-router",)) == ()


def test_factory_is_read_back() -> None:
    elf = read_elf(
        SharedObject(
            {
                "PyList_New": None,
                "memcpy": ("libc.so.6", "GLIBC_2.14"),
                "log": ("libm.so.6", "GLIBC_2.29"),
            },
            needed=("libc.so.6", "libm.so.6"),
            runpath="$ORIGIN/../libs:/opt",
        ).build()
    )
    assert elf.needed == ("libc.so.6", "libm.so.6")
    assert elf.search_paths == ("$ORIGIN/../libs", "/opt")
    assert elf.undefined == {"PyList_New", "memcpy", "log"}
    assert [(v.library, v.version, v.symbols) for v in elf.versions] == [
        ("libc.so.6", "GLIBC_2.14", ("memcpy",)),
        ("libm.so.6", "GLIBC_2.29", ("log",)),
    ]


def test_real_library_is_read() -> None:
    """The factory must not be the only thing that the reader was ever tried on."""
    maps = Path("/proc/self/maps").read_text("utf-8").split()
    libraries = sorted({path for path in maps if ".so" in path and path.startswith("/")})
    libc = next(path for path in libraries if "/libc.so" in path or "/libc-2" in path)
    other = next(path for path in libraries if path != libc and "/ld-" not in path)
    assert any(n.startswith("ld-linux") for n in read_elf(Path(libc).read_bytes()).needed)
    needs = read_elf(Path(other).read_bytes()).versions
    assert any(n.version.startswith("GLIBC_") and n.symbols for n in needs)


def test_too_new_glibc(findings: Auditor) -> None:
    (finding,) = findings(wheel(extension(pidfd_spawnp="GLIBC_2.39")))
    assert finding.code == "elf-version"
    assert finding.found == "GLIBC_2.39 (pidfd_spawnp)"
    assert finding.expected == "at most GLIBC_2.17"


def test_weak_need_counts(findings: Auditor) -> None:
    elf = SharedObject({"pidfd_spawnp": ("libc.so.6", "GLIBC_2.39")}, weak=True).build()
    assert codes(findings(wheel(elf))) == ["elf-version"]


def test_tag_allows_what_it_promises(findings: Auditor) -> None:
    elf = extension(pidfd_spawnp="GLIBC_2.39")
    assert findings(wheel(elf, tag="cp311-abi3-manylinux_2_39_x86_64")) == ()


def test_oldest_of_two_tags_counts(findings: Auditor) -> None:
    tag = "cp311-abi3-manylinux2014_x86_64.manylinux_2_39_x86_64"
    assert codes(findings(wheel(extension(f="GLIBC_2.28"), tag=tag))) == ["elf-version"]


@pytest.mark.parametrize(
    ("library", "version"),
    [
        ("libc.so.6", "GLIBC_PRIVATE"),
        ("libc.so.6", "GLIBC_ABI_DT_RELR"),
        ("libstdc++.so.6", "GLIBCXX_3.4.20"),
        ("libstdc++.so.6", "CXXABI_1.3.8"),
        ("libgcc_s.so.1", "GCC_7.0.0"),
    ],
)
def test_other_versions(findings: Auditor, library: str, version: str) -> None:
    elf = SharedObject({"f": (library, version)}, needed=(library,)).build()
    (finding,) = findings(wheel(elf))
    assert finding.code == "elf-version"
    assert finding.found == f"{version} (f)"


def test_promised_versions_are_clean(findings: Auditor) -> None:
    elf = SharedObject(
        {
            "a": ("libstdc++.so.6", "GLIBCXX_3.4.19"),
            "b": ("libstdc++.so.6", "CXXABI_1.3.7"),
            "c": ("libgcc_s.so.1", "GCC_4.8.0"),
            "d": ("libc.so.6", "GLIBC_2.17"),
        },
        needed=("libstdc++.so.6", "libgcc_s.so.1", "libc.so.6"),
    ).build()
    assert findings(wheel(elf)) == ()


@pytest.mark.parametrize("library", ["libpython3.11.so.1.0", "libssl.so.3", "libcuda.so.1"])
def test_library_nobody_promised(findings: Auditor, library: str) -> None:
    elf = SharedObject(needed=("libc.so.6", library)).build()
    (finding,) = findings(wheel(elf))
    assert (finding.code, finding.found) == ("elf-library", library)


def test_bundled_library_is_fine_but_audited(findings: Auditor) -> None:
    spec = wheel(SharedObject(needed=("libssl.so.3",)).build())
    spec.members["kv_router.libs/libssl.so.3"] = extension(f="GLIBC_2.34")
    (finding,) = findings(spec)
    assert (finding.code, finding.member) == ("elf-version", "kv_router.libs/libssl.so.3")


def test_executable_is_audited(findings: Auditor) -> None:
    spec = wheel(extension())
    spec.members["kv_router-0.13.0.data/scripts/tool"] = extension(f="GLIBC_2.34")
    assert codes(findings(spec)) == ["elf-version"]


def test_wrong_machine(findings: Auditor) -> None:
    (finding,) = findings(wheel(SharedObject(machine=AARCH64).build()))
    assert (finding.code, finding.found) == ("elf-machine", "EM_AARCH64, 64 bits")


@pytest.mark.parametrize("path", ["/usr/local/lib", "", "lib"])
def test_search_path(findings: Auditor, path: str) -> None:
    assert codes(findings(wheel(SharedObject(runpath=path).build()))) == ["elf-search-path"]


def test_relative_search_path_is_clean(findings: Auditor) -> None:
    assert findings(wheel(SharedObject(runpath="$ORIGIN/../x.libs").build())) == ()


@pytest.mark.parametrize(
    "elf",
    [
        b"\x7fELF",
        b"\x7fELF" + bytes(200),
        SharedObject(section_table=False).build(),
        SharedObject({"f": ("libc.so.6", "GLIBC_2.39")}).build()[:-70],
    ],
    ids=["header only", "zeros", "no section table", "cut off"],
)
def test_unreadable_is_not_needs_nothing(findings: Auditor, elf: bytes) -> None:
    assert codes(findings(wheel(elf))) == ["elf-unreadable"]


def test_symbol_outside_the_stable_abi_and_a_too_new_one(findings: Auditor) -> None:
    elf = SharedObject(
        {"_PyObject_GetDictPtr": None, "PyUnicode_AsUTF8AndSize": None, "PyType_GetName": None}
    ).build()
    found = findings(wheel(elf, tag="cp310-abi3-manylinux_2_17_x86_64", headers=()))
    assert [(f.code, f.found) for f in found] == [
        ("abi3-symbol", "_PyObject_GetDictPtr"),
        ("abi3-too-new", "PyType_GetName"),
    ]


def test_symbols_of_one_version_are_fine_without_abi3(findings: Auditor) -> None:
    spec = WheelSpec(
        tag="cp311-cp311-manylinux_2_17_x86_64",
        members={
            "simw/_core.cpython-311-x86_64-linux-gnu.so": SharedObject(
                {"_PyObject_GetDictPtr": None}
            ).build()
        },
    )
    assert findings(spec) == ()


@pytest.mark.parametrize(
    ("tag", "member"),
    [
        ("cp311-abi3-manylinux_2_17_x86_64", "simw/_core.cpython-312-x86_64-linux-gnu.so"),
        ("cp314-cp314-manylinux_2_17_x86_64", "simw/_core.abi3.so"),
    ],
)
def test_extension_of_another_abi(findings: Auditor, tag: str, member: str) -> None:
    spec = WheelSpec(tag=tag, members={member: extension()})
    assert codes(findings(spec)) == ["tag-extension"]


def test_machine_tag_of_this_host(findings: Auditor) -> None:
    assert codes(findings(wheel(extension(), tag="cp311-abi3-linux_x86_64"))) == ["tag-linux"]


def test_machine_code_in_a_pure_wheel(findings: Auditor) -> None:
    spec = WheelSpec(members={"simw/fast.so": extension()})
    assert codes(findings(spec)) == ["tag-pure"]
