//! Just enough HTTP to call a server of this process: one request, one connection.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Posts JSON; the status of the answer, and its body if it has one.
pub async fn http_post(address: SocketAddr, path: &str, body: &str) -> io::Result<String> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    request(address, &(head + body)).await
}

/// Gets a page; the status of the answer, and its body if it has one.
pub async fn http_get(address: SocketAddr, path: &str) -> io::Result<String> {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    request(address, &head).await
}

async fn request(address: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    let status = status.trim_start_matches("HTTP/1.1 ");
    Ok(format!("{status} {body}").trim_end().to_owned())
}
