"""Keys and certificates for a server on one machine: an authority, a server, an administrator.

Made once into a directory and reused while they are valid; private files are readable by their
owner alone. Keys come from the operating system's randomness, never from a seeded generator.
"""

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

YEARS = 10
RENEW_BEFORE = timedelta(days=30)
SERVER_NAMES = (
    "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)  # fmt: skip
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")
ADMINISTRATOR = ("kubernetes-admin", "system:masters")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where the material lies."""

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def server_certificate(self) -> Path:
        return self.directory / "server.crt"

    @property
    def server_key(self) -> Path:
        return self.directory / "server.key"

    @property
    def client_certificate(self) -> Path:
        return self.directory / "client.crt"

    @property
    def client_key(self) -> Path:
        return self.directory / "client.key"

    def server_context(self) -> ssl.SSLContext:
        """For the server: asks for client certificates, lives without."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.server_certificate, self.server_key)
        context.load_verify_locations(self.ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def client_context(self, with_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        if with_certificate:
            context.load_cert_chain(self.client_certificate, self.client_key)
        return context


def ensure_tls(directory: Path, now: float, names: tuple[str, ...] = ()) -> TlsFiles:
    """The material in `directory`, made where it is missing or about to end."""
    files = TlsFiles(directory)
    moment = datetime.fromtimestamp(now, UTC)
    if _is_usable(files, moment):
        return files
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _Authority.make(moment)
    server_key, server = authority.issue("kube-apiserver", moment, names=(*SERVER_NAMES, *names))
    client_key, client = authority.issue(ADMINISTRATOR[0], moment, group=ADMINISTRATOR[1])
    _write(files.server_key, _key_pem(server_key))
    _write(files.client_key, _key_pem(client_key))
    _write(files.server_certificate, _cert_pem(server))
    _write(files.client_certificate, _cert_pem(client))
    _write(files.ca, _cert_pem(authority.certificate))
    return files


def _is_usable(files: TlsFiles, now: datetime) -> bool:
    wanted = (
        files.ca, files.server_certificate, files.server_key, files.client_certificate,
        files.client_key,
    )  # fmt: skip
    if not all(path.exists() for path in wanted):
        return False
    try:
        certificate = x509.load_pem_x509_certificate(files.server_certificate.read_bytes())
        files.server_context()
        files.client_context(with_certificate=True)
    except (ValueError, ssl.SSLError):  # broken off while it was written, or not ours
        return False
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begins <= now < ends - RENEW_BEFORE


@dataclass(frozen=True, slots=True)
class _Authority:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @staticmethod
    def make(now: datetime) -> "_Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("allaboard-ca")
        certificate = (
            _builder(name, name, key, now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        return _Authority(key, certificate)

    def issue(
        self, name: str, now: datetime, group: str = "", names: tuple[str, ...] = ()
    ) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """A key and certificate; for a server when it has `names`, else for a client."""
        key = ec.generate_private_key(ec.SECP256R1())
        purpose = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            _builder(_name(name, group), self.certificate.subject, key, now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if names:
            dns: list[x509.GeneralName] = [x509.DNSName(n) for n in dict.fromkeys(names)]
            addresses = [x509.IPAddress(ipaddress.ip_address(a)) for a in SERVER_ADDRESSES]
            builder = builder.add_extension(
                x509.SubjectAlternativeName([*dns, *addresses]), critical=False
            )
        return key, builder.sign(self.key, hashes.SHA256())


def _name(common: str, organisation: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365 * YEARS))
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _cert_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    half = path.with_name(path.name + ".new")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, path)
