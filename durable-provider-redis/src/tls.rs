//! TLS: whom a client trusts, and who it is. Nothing here talks to a server.

use std::fmt;

use durable_core::provider::ProviderError;
use redis::{ClientTlsConfig, TlsCertificates};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Whom to trust at `rediss://` addresses, and who to be there. The default trusts the usual
/// roots and shows no certificate.
///
/// ```
/// use durable_provider_redis::{RedisIdentity, RedisOptions, RedisTls};
///
/// # fn example() -> std::io::Result<()> {
/// let tls = RedisTls {
///     roots: Some(std::fs::read("ca.pem")?),
///     identity: Some(RedisIdentity {
///         certificates: std::fs::read("orders.pem")?,
///         key: std::fs::read("orders.key")?,
///     }),
/// };
/// let options = RedisOptions::default().tls(tls);
/// # drop(options);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedisTls {
    /// Certificates (PEM) of the authorities that are trusted, instead of the usual roots.
    pub roots: Option<Vec<u8>>,
    /// What is shown to a server that asks who is there (mutual TLS).
    pub identity: Option<RedisIdentity>,
}

/// A client's certificate and its key. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisIdentity {
    /// The certificate (PEM), and after it those between it and its authority.
    pub certificates: Vec<u8>,
    /// The private key (PEM).
    pub key: Vec<u8>,
}

impl fmt::Debug for RedisIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisIdentity").finish_non_exhaustive()
    }
}

impl RedisTls {
    /// The certificates as the client library takes them; none if nothing is set.
    pub(crate) fn certificates(&self) -> Result<Option<TlsCertificates>, ProviderError> {
        if *self == Self::default() {
            return Ok(None);
        }
        if let Some(roots) = &self.roots {
            check_certificates("roots", roots)?;
        }
        if let Some(identity) = &self.identity {
            check_certificates("certificates", &identity.certificates)?;
        }
        Ok(Some(TlsCertificates {
            client_tls: self.identity.clone().map(|identity| ClientTlsConfig {
                client_cert: identity.certificates,
                client_key: identity.key,
            }),
            root_cert: self.roots.clone(),
        }))
    }
}

/// The library takes whatever is no certificate for none.
fn check_certificates(what: &str, pem: &[u8]) -> Result<(), ProviderError> {
    let reason = match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Ok(found) if !found.is_empty() => return Ok(()),
        Ok(_) => "they have no PEM certificate".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(ProviderError::Unusable {
        reason: format!("the TLS {what} cannot be read: {reason}"),
    })
}

/// Chooses the cryptography of the process, unless the program has chosen.
pub(crate) fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // Another part of the program may have chosen already; then its choice stays.
        let _ = ring::default_provider().install_default();
    }
}
