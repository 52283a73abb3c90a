//! A certificate authority, and servers whose certificates it signed.

use std::path::{Path, PathBuf};

use durable_provider_redis::{RedisIdentity, RedisTls};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::server::{DURABLE, Server, free_port};

/// An authority, and what it issued to the servers of a test.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// Whether a server wants to know who its clients are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clients {
    WithoutCertificate,
    WithCertificate,
}

/// A server that speaks TLS on one port, and the language of the tests on another.
pub(crate) struct TlsServer {
    pub(crate) server: Server,
    pub(crate) tls_port: u16,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // A certificate with the name of its authority would count as signed by itself.
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let authority = Self { issuer, folder };
        authority.write("ca.pem", authority.issuer.pem());
        let server = authority.issue("127.0.0.1");
        authority.write_identity("server", &server);
        authority
    }

    /// A certificate for this name or address.
    pub(crate) fn issue(&self, name: &str) -> RedisIdentity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        RedisIdentity {
            certificates: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
        }
    }

    /// What a client sets that trusts this authority.
    pub(crate) fn trusted(&self) -> RedisTls {
        RedisTls {
            roots: Some(self.issuer.pem().into_bytes()),
            identity: None,
        }
    }

    /// As [`trusted`](Self::trusted), by a client that can say who it is.
    pub(crate) fn trusted_by(&self, name: &str) -> RedisTls {
        RedisTls {
            identity: Some(self.issue(name)),
            ..self.trusted()
        }
    }

    /// The settings of a server with a certificate of this authority.
    pub(crate) fn settings(&self, tls_port: u16, clients: Clients) -> Vec<String> {
        let mut settings: Vec<String> = DURABLE.map(str::to_owned).to_vec();
        let asks = match clients {
            Clients::WithoutCertificate => "no",
            Clients::WithCertificate => "yes",
        };
        for (name, value) in [
            ("--tls-port", tls_port.to_string()),
            ("--tls-ca-cert-file", self.path("ca.pem")),
            ("--tls-cert-file", self.path("server.pem")),
            ("--tls-key-file", self.path("server.key")),
            ("--tls-auth-clients", asks.to_owned()),
        ] {
            settings.extend([name.to_owned(), value]);
        }
        settings
    }

    /// A server with a certificate of this authority.
    pub(crate) fn server(&self, clients: Clients) -> TlsServer {
        let tls_port = free_port();
        let settings = self.settings(tls_port, clients);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        TlsServer {
            server: Server::with(&settings),
            tls_port,
        }
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    fn write_identity(&self, name: &str, identity: &RedisIdentity) {
        self.write(&format!("{name}.pem"), &identity.certificates);
        self.write(&format!("{name}.key"), &identity.key);
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(Path::new(&self.path(name)), content).unwrap();
    }
}

impl TlsServer {
    /// The address for this user; an empty text names none.
    pub(crate) fn url(&self, user: &str) -> String {
        format!("rediss://{user}127.0.0.1:{}", self.tls_port)
    }
}
