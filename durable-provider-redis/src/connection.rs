//! Connections: to a plain server or to a cluster, with the same calls.
//!
//! A connection whose answers do not come any more is replaced: the library notices one that
//! was closed, not one that is frozen.
//!
//! Nothing is sent twice by itself: only the caller knows whether a call that may have
//! happened can be made again. The client library is told not to retry; what was refused
//! because a slot is moving is tried again here, because then nothing happened.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use durable_core::provider::ProviderError;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{Route, SingleNodeRoutingInfo, SlotAddr};
use redis::{Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline};
use redis::{RedisError, RedisResult, TlsCertificates, Value};

use crate::error;
use crate::options::RedisOptions;
use crate::tls;

/// How often a call is tried that a moving slot refused.
const MOVING_TRIES: u32 = 40;
const MOVING_PAUSE: Duration = Duration::from_millis(50);

/// Where the store is.
#[derive(Debug)]
pub(crate) struct Nodes {
    clients: Vec<Client>,
    certificates: Option<TlsCertificates>,
}

/// Connections that many calls share.
pub(crate) enum Link {
    Server {
        lanes: Vec<Lane<ConnectionManager, Client>>,
        next: AtomicUsize,
        config: ConnectionManagerConfig,
    },
    Cluster(Box<Lane<ClusterConnection, ClusterClient>>),
}

/// A connection, and what makes another one in its place.
pub(crate) struct Lane<Connection, Maker> {
    maker: Maker,
    /// Counted, so that many who find it frozen replace it once.
    current: RwLock<(u64, Connection)>,
}

impl<Connection: Clone, Maker> Lane<Connection, Maker> {
    fn new(maker: Maker, connection: Connection) -> Self {
        let current = RwLock::new((0, connection));
        Self { maker, current }
    }

    fn current(&self) -> (u64, Connection) {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Puts another connection in the place of this one, unless another task has.
    fn replace(&self, frozen: u64, connection: Connection) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.0 == frozen {
            *current = (frozen + 1, connection);
        }
    }
}

impl Nodes {
    /// Takes addresses; those that would send passwords and payloads through a network in
    /// the clear are refused unless that was asked for.
    pub(crate) fn new(urls: &[&str], options: &RedisOptions) -> Result<Self, ProviderError> {
        let certificates = options.tls.certificates()?;
        let clients: Vec<Client> = urls
            .iter()
            .map(|url| client(url, options, certificates.as_ref()))
            .collect::<Result<_, _>>()?;
        match clients.is_empty() {
            true => Err(unusable("no address is given".into())),
            false => Ok(Self {
                clients,
                certificates,
            }),
        }
    }

    /// Connects to the first node that answers.
    pub(crate) async fn any(
        &self,
        options: &RedisOptions,
    ) -> Result<(Client, ConnectionManager), ProviderError> {
        let mut last = None;
        for client in &self.clients {
            let connecting = client.get_connection_manager_with_config(config(options));
            match connecting.await {
                Ok(connection) => return Ok((client.clone(), connection)),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or_else(
            || unusable("no address is given".into()),
            |error| error::of_opening(&error),
        ))
    }

    /// Connections for calls.
    pub(crate) async fn link(
        &self,
        is_cluster: bool,
        options: &RedisOptions,
    ) -> Result<Link, ProviderError> {
        let refused = |error: RedisError| error::of_opening(&error);
        if !is_cluster {
            let mut lanes = Vec::new();
            while lanes.len() < options.connections.max(1) {
                let (client, connection) = self.any(options).await?;
                lanes.push(Lane::new(client, connection));
            }
            return Ok(Link::Server {
                lanes,
                next: AtomicUsize::new(0),
                config: config(options),
            });
        }
        let infos = self
            .clients
            .iter()
            .map(|client| client.get_connection_info().clone());
        let mut builder = ClusterClient::builder(infos)
            .retries(0)
            .connection_timeout(options.connect_timeout)
            .response_timeout(options.response_timeout);
        if let Some(certificates) = &self.certificates {
            builder = builder.certs(certificates.clone());
        }
        let client = builder.build().map_err(refused)?;
        let connection = client.get_async_connection().await.map_err(refused)?;
        Ok(Link::Cluster(Box::new(Lane::new(client, connection))))
    }

    /// A connection for wake-ups, to the node with this number.
    pub(crate) async fn listen(&self, number: usize) -> RedisResult<redis::aio::PubSub> {
        let client = &self.clients[number % self.clients.len()];
        client.get_async_pubsub().await
    }
}

impl Link {
    /// Sends a command; what a moving slot refused is sent again.
    pub(crate) async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        while_moving(|| self.send_once(command)).await
    }

    /// As [`send`](Self::send), and waits until this many replicas have it; says how many do.
    pub(crate) async fn send_and_wait(
        &self,
        command: &Cmd,
        slot: u16,
        replicas: u32,
        bound: Duration,
    ) -> RedisResult<(Value, u32)> {
        let mut pipeline = Pipeline::with_capacity(2);
        pipeline.add_command(command.clone());
        let millis = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
        pipeline.cmd("WAIT").arg(replicas).arg(millis);
        while_moving(|| self.send_both_once(&pipeline, slot)).await
    }

    async fn send_once(&self, command: &Cmd) -> RedisResult<Value> {
        let answer = match self {
            Self::Server { lanes, next, .. } => {
                let lane = &lanes[next.fetch_add(1, Ordering::Relaxed) % lanes.len()];
                let (number, mut connection) = lane.current();
                let answer = connection.req_packed_command(command).await;
                self.renew_server(lane, number, answer)
            }
            Self::Cluster(lane) => {
                let (number, mut connection) = lane.current();
                let answer = connection.req_packed_command(command).await;
                renew_cluster(lane, number, answer).await
            }
        };
        answer.and_then(Value::extract_error)
    }

    /// Sends a command and its `WAIT`.
    async fn send_both_once(&self, both: &Pipeline, slot: u16) -> RedisResult<(Value, u32)> {
        let answers = match self {
            Self::Server { lanes, next, .. } => {
                let lane = &lanes[next.fetch_add(1, Ordering::Relaxed) % lanes.len()];
                let (number, mut connection) = lane.current();
                let answers = connection.req_packed_commands(both, 0, 2).await;
                self.renew_server(lane, number, answers)
            }
            Self::Cluster(lane) => {
                let (number, mut connection) = lane.current();
                let route = Route::new(slot, SlotAddr::Master);
                let route = SingleNodeRoutingInfo::SpecificNode(route);
                let answers = connection.route_pipeline(both.clone(), 0, 2, route).await;
                renew_cluster(lane, number, answers).await
            }
        };
        let mut answers = answers?.into_iter();
        let answer = answers.next().unwrap_or(Value::Nil).extract_error()?;
        let reached = match answers.next() {
            Some(Value::Int(reached)) => u32::try_from(reached).unwrap_or(0),
            _ => 0,
        };
        Ok((answer, reached))
    }

    /// The connection to a cluster.
    pub(crate) fn cluster(&self) -> Option<ClusterConnection> {
        match self {
            Self::Server { .. } => None,
            Self::Cluster(lane) => Some(lane.current().1),
        }
    }

    /// Replaces a connection to a server that did not answer in time. The new one connects
    /// when it is used.
    fn renew_server<T>(
        &self,
        lane: &Lane<ConnectionManager, Client>,
        number: u64,
        answer: RedisResult<T>,
    ) -> RedisResult<T> {
        if let (Self::Server { config, .. }, Err(error)) = (self, &answer)
            && error.is_timeout()
            && let Ok(connection) = lane.maker.get_connection_manager_lazy(config.clone())
        {
            lane.replace(number, connection);
        }
        answer
    }
}

/// Tries until the slot has moved, or for long enough. What a moving slot refuses has not
/// begun: a script declares all of its keys, and the server looks at them first.
async fn while_moving<T, F>(attempt: impl Fn() -> F) -> RedisResult<T>
where
    F: Future<Output = RedisResult<T>>,
{
    for _ in 1..MOVING_TRIES {
        match attempt().await {
            Err(error) if error::is_moving(&error) => tokio::time::sleep(MOVING_PAUSE).await,
            answer => return answer,
        }
    }
    attempt().await
}

/// Replaces the connections to a cluster of which one did not answer in time.
async fn renew_cluster<T>(
    lane: &Lane<ClusterConnection, ClusterClient>,
    number: u64,
    answer: RedisResult<T>,
) -> RedisResult<T> {
    if let Err(error) = &answer
        && error.is_timeout()
        && lane.current().0 == number
        && let Ok(connection) = lane.maker.get_async_connection().await
    {
        lane.replace(number, connection);
    }
    answer
}

/// What makes connections to an address.
fn client(
    url: &str,
    options: &RedisOptions,
    certificates: Option<&TlsCertificates>,
) -> Result<Client, ProviderError> {
    // The error of the library may repeat the address, and the password in it.
    let info = url
        .into_connection_info()
        .map_err(|_| unusable("the address is no redis://, rediss:// or unix:// address".into()))?;
    let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    if let ConnectionAddr::Tcp(host, _) = info.addr()
        && !is_loopback(host)
        && !options.allow_plaintext
    {
        return Err(unusable(format!(
            "{host} would be spoken to without TLS: use rediss://, or set `allow_plaintext`"
        )));
    }
    if is_tls {
        tls::choose_cryptography();
    }
    match certificates {
        Some(_) if !is_tls => Err(unusable(
            "`tls` is set, and the address is without TLS: use rediss://".into(),
        )),
        Some(certificates) => Client::build_with_tls(info, certificates.clone())
            .map_err(|error| unusable(format!("`tls` cannot be used: {error}"))),
        None => Client::open(info).map_err(|_| unusable("the address cannot be used".into())),
    }
}

fn config(options: &RedisOptions) -> ConnectionManagerConfig {
    ConnectionManagerConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        .set_response_timeout(Some(options.response_timeout))
        .set_number_of_retries(2)
        .set_max_delay(Duration::from_millis(500))
}

fn is_loopback(host: &str) -> bool {
    let address: Result<std::net::IpAddr, _> = host.trim_matches(['[', ']']).parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn unusable(reason: String) -> ProviderError {
    ProviderError::Unusable { reason }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server { .. } => "Server",
            Self::Cluster(_) => "Cluster",
        })
    }
}
