//! A TCP proxy on the loopback that can swallow answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// A proxy before a server.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    swallows_answers: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) async fn before(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let swallows_answers = Arc::new(AtomicBool::new(false));
        let swallows = Arc::clone(&swallows_answers);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pump(from_client, to_server, Arc::default()));
                tokio::spawn(pump(from_server, to_client, Arc::clone(&swallows)));
            }
        });
        Self {
            port,
            swallows_answers,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on requests reach the server and answers are dropped, or they pass again.
    pub(crate) fn swallow_answers(&self, swallows: bool) {
        self.swallows_answers.store(swallows, Ordering::SeqCst);
    }
}

/// Copies until one side ends; a connection that swallowed anything never speaks again.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, swallows: Arc<AtomicBool>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut is_mute = false;
    while let Ok(length) = from.read(&mut buffer).await {
        if length == 0 {
            return;
        }
        is_mute |= swallows.load(Ordering::SeqCst);
        if !is_mute && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
