//! Stores on Redis. Opening one opens no session and takes no lease.
//!
//! What the command needs to know beside the address stands at its end, as the parameters of
//! a URL, so that one text (`--store`, `DURABLE_STORE`) says all of it.

use std::path::Path;

use durable_core::provider::ProviderError;
use durable_provider_redis::{Durability, RedisIdentity, RedisOptions, RedisProvider, RedisTls};

use super::{Location, Missing};
use crate::error::CliError;

/// The schemes that mean Redis.
pub(super) const SCHEMES: [&str; 3] = ["redis", "rediss", "unix"];

/// What can stand at the end of an address: `?prefix=orders&ca=ca.pem`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parameters<'a> {
    /// The prefix of a store that does not have the usual one.
    prefix: Option<&'a str>,
    /// A file with the certificates that are trusted instead of the usual ones.
    ca: Option<&'a Path>,
    /// Files with the certificate and the key that are shown to the server.
    cert: Option<&'a Path>,
    key: Option<&'a Path>,
    /// Whether a connection to another host may do without TLS.
    allow_plaintext: bool,
}

/// Opens the store at this address.
pub(super) async fn open(
    location: &Location,
    scheme: &str,
    rest: &str,
    missing: Missing,
) -> Result<RedisProvider, CliError> {
    let not_opened = |error| CliError::NotOpened {
        location: location.clone(),
        error,
    };
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let parameters = Parameters::parse(parameters).map_err(not_opened)?;
    let options = parameters.options()?;
    let url = format!("{scheme}://{rest}");
    let opened = match missing {
        Missing::IsAnError => RedisProvider::open_existing(&[&url], options).await,
        Missing::IsCreated => RedisProvider::open_with(&[&url], options).await,
    };
    opened.map_err(not_opened)
}

impl<'a> Parameters<'a> {
    fn parse(text: &'a str) -> Result<Self, ProviderError> {
        let mut known = Self::default();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=').unwrap_or((parameter, "")) {
                ("prefix", prefix) => known.prefix = Some(prefix),
                ("ca", path) => known.ca = Some(Path::new(path)),
                ("cert", path) => known.cert = Some(Path::new(path)),
                ("key", path) => known.key = Some(Path::new(path)),
                ("plaintext", "allowed") => known.allow_plaintext = true,
                (name, _) => {
                    return Err(ProviderError::Unusable {
                        reason: format!(
                            "`{name}` is no parameter: there are prefix, ca, cert, key and plaintext=allowed"
                        ),
                    });
                }
            }
        }
        match (known.cert, known.key) {
            (Some(_), None) | (None, Some(_)) => Err(ProviderError::Unusable {
                reason: "`cert` and `key` go together".into(),
            }),
            _ => Ok(known),
        }
    }

    fn options(&self) -> Result<RedisOptions, CliError> {
        let identity = match (self.cert, self.key) {
            (Some(cert), Some(key)) => Some(RedisIdentity {
                certificates: read(cert)?,
                key: read(key)?,
            }),
            _ => None,
        };
        let options = match self.prefix {
            Some(prefix) => RedisOptions::default().prefix(prefix),
            None => RedisOptions::default(),
        };
        Ok(options
            // The nodes decide which settings the server must have; the command accepts any.
            .durability(Durability::Relaxed)
            .allow_plaintext(self.allow_plaintext)
            .tls(RedisTls {
                roots: self.ca.map(read).transpose()?,
                identity,
            })
            .connections(1))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|error| CliError::File {
        path: path.into(),
        what: "read",
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_in_any_order_and_others_refused() {
        let parsed = Parameters::parse("key=k.pem&prefix=orders&cert=c.pem&ca=a.pem");
        let expected = Parameters {
            prefix: Some("orders"),
            ca: Some(Path::new("a.pem")),
            cert: Some(Path::new("c.pem")),
            key: Some(Path::new("k.pem")),
            allow_plaintext: false,
        };
        assert_eq!(parsed, Ok(expected));
        assert_eq!(Parameters::parse(""), Ok(Parameters::default()));
        for (text, expected) in [
            ("prefx=orders", "`prefx` is no parameter"),
            ("plaintext=yes", "`plaintext` is no parameter"),
            ("cert=c.pem", "`cert` and `key` go together"),
        ] {
            let error = Parameters::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
