"""What of the host reaches the fetchers in a build, and what does not."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from harness import network
from harness.errors import InputError

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host with a CA bundle and nothing else."""
    for name in list(network.environment()) + list(network.CA_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo-home"))
    return bundle


def test_proxies_and_indexes_travel_folders_of_the_host_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:3141/it's here")
    monkeypatch.setenv("CARGO_HTTP_TIMEOUT", "9")
    monkeypatch.setenv("PIP_FIND_LINKS", "/somewhere/on/the/host")
    monkeypatch.setenv("UNRELATED_TOKEN", "secret")
    found = network.environment()
    assert found["https_proxy"] == "http://127.0.0.1:3128"
    assert found["CARGO_HTTP_TIMEOUT"] == "9"
    assert "PIP_INDEX_URL" in found
    assert not {"PIP_FIND_LINKS", "UNRELATED_TOKEN"} & set(found)


def test_every_fetcher_is_told_where_the_certificates_are(tmp_path: Path, bare: Path) -> None:
    found = network.environment()
    assert {found[name] for name in network.CA_CONSUMERS} == {network.CA_MOUNT}
    secrets = network.collect(tmp_path)
    assert secrets.files["ca"].read_text() == bare.read_text()


def test_secrets_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    secrets = network.collect(tmp_path)
    assert set(secrets.files) == {"env", "pip", "cargo", "ca"}
    for path in secrets.files.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_size > 0
    words = secrets.arguments()
    assert words.count("--secret") == 4


def test_the_shell_reads_values_back_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    value = """http://u:p'a$s@127.0.0.1/ "x" """
    monkeypatch.setenv("PIP_INDEX_URL", value)
    path = network.collect(tmp_path).files["env"]
    done = subprocess.run(
        ["sh", "-c", f'. {path} && printf %s "$PIP_INDEX_URL"'],
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
        env={},
    )
    assert done.stdout == value


def test_cargo_configuration_travels(tmp_path: Path) -> None:
    (tmp_path / "cargo-home").mkdir()
    (tmp_path / "cargo-home" / "config.toml").write_text(
        '[http]\ntimeout = 7\ncainfo = "/host/ca.pem"\n[build]\nrustc-wrapper = "sccache"\n'
    )
    text = network.collect(tmp_path).files["cargo"].read_text()
    assert "timeout = 7" in text
    # What names programs and files of the host would break in the container.
    assert "rustc-wrapper" not in text
    assert "cainfo" not in text


def test_a_bundle_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/bundle.pem")
    with pytest.raises(InputError, match=r"SSL_CERT_FILE names /no/such/bundle\.pem"):
        network.ca_bundle()
