//! Opening a store: the servers are looked at, the number of partitions is settled, and
//! the tasks of the store are begun.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::provider::{Clock, ProviderError, SystemClock};
use redis::Value;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::check::ServerInfo;
use crate::clock::HandleTime;
use crate::connection::{Link, Nodes};
use crate::error::{self, Effect};
use crate::keys::store_key;
use crate::options::RedisOptions;
use crate::store::Store;
use crate::{listener, relay};

/// The format of what is stored; raised when older releases could not read it.
const FORMAT: u64 = 2;
const LONGEST_PREFIX: usize = 128;
const MOST_PARTITIONS: usize = 1_024;
/// A cluster can grow to this many primaries without a new store.
const CLUSTER_PARTITIONS: usize = 32;

/// Whether a store that is not there is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    IsAnError,
    IsCreated,
}

/// An open store and its tasks, which end with it.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) store: Arc<Store>,
    tasks: Vec<AbortHandle>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Backend {
    pub(crate) async fn open(
        urls: &[&str],
        options: RedisOptions,
        missing: Missing,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<Self, ProviderError> {
        check_options(&options)?;
        let nodes = Nodes::new(urls, &options)?;
        let (_, mut first) = nodes.any(&options).await?;
        let server = ServerInfo::ask(&mut first).await?;
        let time = match clock {
            Some(clock) => HandleTime::of_clock(clock),
            None => HandleTime::of_server(server.time_ms().unwrap_or_else(|| SystemClock.now_ms())),
        };
        server.check(&options)?;
        let is_cluster = server.is_cluster();
        let link = nodes.link(is_cluster, &options).await?;
        if let Some(connection) = link.cluster() {
            check_primaries(connection, &options).await?;
        }
        if missing == Missing::IsCreated {
            record_store(&link, is_cluster, &options).await?;
        }
        let partitions = recorded_partitions(&link, &options).await?;
        let store = Arc::new(Store::new(nodes, link, partitions, options, time));
        let (ready, is_ready) = oneshot::channel();
        let mut tasks =
            vec![tokio::spawn(listener::serve(Arc::clone(&store), ready)).abort_handle()];
        if partitions > 1 {
            tasks.push(tokio::spawn(relay::serve(Arc::clone(&store))).abort_handle());
        }
        let backend = Self { store, tasks };
        // What is not heard yet is found by polling: a listener that connects late is no error.
        let bound = backend.store.options.connect_timeout;
        let _ = tokio::time::timeout(bound, is_ready).await;
        Ok(backend)
    }
}

fn check_options(options: &RedisOptions) -> Result<(), ProviderError> {
    let prefix = &options.prefix;
    let is_fine = !prefix.is_empty() && prefix.len() <= LONGEST_PREFIX;
    if !is_fine || prefix.contains(['{', '}']) {
        return unusable(format!(
            "the prefix must have 1 to {LONGEST_PREFIX} bytes and no braces"
        ));
    }
    if options
        .partitions
        .is_some_and(|count| count == 0 || count > MOST_PARTITIONS)
    {
        return unusable(format!("a store has 1 to {MOST_PARTITIONS} partitions"));
    }
    Ok(())
}

/// Looks at every primary of a cluster.
async fn check_primaries(
    connection: redis::cluster_async::ClusterConnection,
    options: &RedisOptions,
) -> Result<(), ProviderError> {
    let mut command = redis::cmd("INFO");
    command.arg("server");
    let routing = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
    let mut asking = connection.clone();
    let answer = asking.route_command(command, routing).await;
    let answer = answer.map_err(|error| error::of_call(&error, Effect::Reads))?;
    let Value::Map(answers) = answer else {
        return Ok(());
    };
    for (address, _) in answers {
        let Value::BulkString(address) = address else {
            continue;
        };
        let address = String::from_utf8_lossy(&address).into_owned();
        let Some((host, port)) = address.rsplit_once(':') else {
            continue;
        };
        let mut node = OneNode {
            connection: connection.clone(),
            host: host.to_owned(),
            port: port.parse().unwrap_or(0),
        };
        let server = ServerInfo::ask(&mut node).await?;
        server.check(options).map_err(|error| match error {
            ProviderError::Unusable { reason } => ProviderError::Unusable {
                reason: format!("{address}: {reason}"),
            },
            other => other,
        })?;
    }
    Ok(())
}

/// One node of a cluster, for commands without keys.
struct OneNode {
    connection: redis::cluster_async::ClusterConnection,
    host: String,
    port: u16,
}

impl redis::aio::ConnectionLike for OneNode {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a redis::Cmd) -> redis::RedisFuture<'a, Value> {
        let route = redis::cluster_routing::SingleNodeRoutingInfo::ByAddress {
            host: self.host.clone(),
            port: self.port,
        };
        Box::pin(async move {
            let routing = RoutingInfo::SingleNode(route);
            self.connection.route_command(cmd.clone(), routing).await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> redis::RedisFuture<'a, Vec<Value>> {
        let route = redis::cluster_routing::SingleNodeRoutingInfo::ByAddress {
            host: self.host.clone(),
            port: self.port,
        };
        Box::pin(async move {
            let pipeline = pipeline.clone();
            self.connection
                .route_pipeline(pipeline, offset, count, route)
                .await
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

/// Records the format and the number of partitions of a store that is new.
async fn record_store(
    link: &Link,
    is_cluster: bool,
    options: &RedisOptions,
) -> Result<(), ProviderError> {
    let default = if is_cluster { CLUSTER_PARTITIONS } else { 1 };
    let wanted = options.partitions.unwrap_or(default);
    for (field, value) in [("format", FORMAT as usize), ("partitions", wanted)] {
        let mut command = redis::cmd("HSETNX");
        command
            .arg(store_key(&options.prefix))
            .arg(field)
            .arg(value);
        send(link, &command, Effect::Writes).await?;
    }
    Ok(())
}

/// The number of partitions of the store, which must be one that this release reads.
async fn recorded_partitions(link: &Link, options: &RedisOptions) -> Result<usize, ProviderError> {
    let mut command = redis::cmd("HGETALL");
    command.arg(store_key(&options.prefix));
    let answer = send(link, &command, Effect::Reads).await?;
    let recorded: BTreeMap<String, u64> =
        redis::FromRedisValue::from_redis_value(answer).map_err(error::unexpected)?;
    if recorded.is_empty() {
        return unusable(format!(
            "there is no store with the prefix `{}`; nothing was created",
            options.prefix
        ));
    }
    let recorded = |field: &str| recorded.get(field).copied().unwrap_or(0);
    if recorded("format") != FORMAT {
        return unusable(format!(
            "the store has format {}; this release reads format {FORMAT}",
            recorded("format")
        ));
    }
    let partitions = usize::try_from(recorded("partitions")).unwrap_or(0);
    match options.partitions {
        Some(wanted) if wanted != partitions => unusable(format!(
            "the store was created with {partitions} partitions and is opened with {wanted}: \
             the number is fixed; leave the option unset to take what is recorded"
        )),
        _ if partitions == 0 => unusable("the store's record has no partitions".into()),
        _ => Ok(partitions),
    }
}

async fn send(link: &Link, command: &redis::Cmd, effect: Effect) -> Result<Value, ProviderError> {
    let answer = link.send(command).await;
    answer.map_err(|error| error::of_call(&error, effect))
}

fn unusable<T>(reason: String) -> Result<T, ProviderError> {
    Err(ProviderError::Unusable { reason })
}
