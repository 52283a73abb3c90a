//! The workloads on Restate: its server, and services written with `restate-sdk` 0.13.0
//! as its documentation does.
//!
//! The server's log is fsynced, its default.
//!
//! Settings: `default`, and `tuned`: few partitions, which is the business of the person who
//! starts the server, and all requests on one connection.
//!
//! Plain programs are handlers of a service; those that wait for an event are
//! workflows, which are addressed by their key.

mod programs;
mod transport;

use std::collections::HashMap;
use std::fs;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use bench_harness::{Contender, EVENT, Problem, Program, Setup};
use restate_sdk::ingress::{Client, InvocationHandle};
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::TcpListener;

use programs::{
    Activities, Child, Gated, GatedIngressClient, Mixed, MixedIngressClient, Plain,
    PlainIngressClient,
};
use transport::Transport;

type Handle = InvocationHandle<Transport, u64>;

struct Restate {
    client: Client<Transport>,
    handles: Mutex<HashMap<String, Handle>>,
}

impl Contender for Restate {
    /// The server is named by the addresses of its ingress and its administration,
    /// with a comma between.
    async fn open(setup: &Setup) -> Result<Self, Problem> {
        let (ingress, admin) = setup
            .server
            .split_once(',')
            .ok_or("the server is not named")?;
        let transport = match setup.settings.as_str() {
            "default" => Transport::new(false)?,
            "tuned" => Transport::new(true)?,
            other => return Err(format!("there is no setting `{other}`").into()),
        };
        // A process that takes over must be found where the one before it was.
        let port_file = setup.dir.join("port");
        let known: Option<u16> = fs::read_to_string(&port_file)
            .ok()
            .and_then(|port| port.parse().ok());
        let listener = TcpListener::bind(("127.0.0.1", known.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        let endpoint = Endpoint::builder()
            .bind(Plain)
            .bind(Activities)
            .bind(Child)
            .bind(Gated)
            .bind(Mixed)
            .build();
        tokio::spawn(HttpServer::new(endpoint).serve(listener));
        if known.is_none() {
            register(admin, port).await?;
            fs::write(port_file, port.to_string())?;
        }
        Ok(Self {
            client: Client::new(ingress.parse()?, transport)?,
            handles: Mutex::default(),
        })
    }

    async fn start(&self, program: Program, id: &str, input: u64) -> Result<(), Problem> {
        let client = self.client.clone();
        let handle = match program {
            Program::Chain => self.plain().chain(input).send().await?.invocation_handle(),
            Program::FanOut => self
                .plain()
                .fan_out(input)
                .send()
                .await?
                .invocation_handle(),
            Program::One => self.plain().one(input).send().await?.invocation_handle(),
            Program::Gated => {
                let workflow = GatedIngressClient::from_client(client, id);
                workflow.run(input).send().await?.invocation_handle()
            }
            Program::Mixed => {
                let workflow = MixedIngressClient::from_client(client, id);
                workflow.run(input).send().await?.invocation_handle()
            }
        };
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        handles.insert(id.to_owned(), handle);
        Ok(())
    }

    async fn wait(&self, program: Program, id: &str) -> Result<u64, Problem> {
        let handle = {
            let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            handles.remove(id)
        };
        let client = self.client.clone();
        let handle = match (handle, program) {
            (Some(handle), _) => handle,
            (None, Program::Gated) => GatedIngressClient::from_client(client, id).handle().await?,
            (None, Program::Mixed) => MixedIngressClient::from_client(client, id).handle().await?,
            (None, _) => return Err("a plain program has no key to be found by".into()),
        };
        Ok(handle.attach().await?.into_body())
    }

    async fn raise(&self, program: Program, id: &str) -> Result<(), Problem> {
        let client = self.client.clone();
        if program == Program::Gated {
            let workflow = GatedIngressClient::from_client(client, id);
            let _ = workflow.go(EVENT).call().await?;
        } else {
            let workflow = MixedIngressClient::from_client(client, id);
            let _ = workflow.go(EVENT).call().await?;
        }
        Ok(())
    }

    async fn call(&self, program: Program, id: &str, input: u64) -> Result<u64, Problem> {
        match program {
            Program::Chain => Ok(self.plain().chain(input).call().await?.into_body()?),
            Program::FanOut => Ok(self.plain().fan_out(input).call().await?.into_body()?),
            Program::One => Ok(self.plain().one(input).call().await?.into_body()?),
            Program::Gated | Program::Mixed => {
                self.start(program, id, input).await?;
                self.wait(program, id).await
            }
        }
    }
}

impl Restate {
    fn plain(&self) -> PlainIngressClient<Transport> {
        PlainIngressClient::from_client(self.client.clone())
    }
}

/// Tells the server where the services are.
async fn register(admin: &str, port: u16) -> Result<(), Problem> {
    let deployment = serde_json::json!({ "uri": format!("http://127.0.0.1:{port}") });
    let request = reqwest::Client::new()
        .post(format!("{admin}/deployments"))
        .json(&deployment);
    request.send().await?.error_for_status()?;
    Ok(())
}

fn main() -> ExitCode {
    bench_harness::main::<Restate>()
}
