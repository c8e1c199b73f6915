//! `--metrics ADDRESS`: what Prometheus asks for, over HTTP/1.1 (RFC 9112), one answer a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::events::{Record, Subscriber};
use crate::report::Metrics;
use crate::resources::Slots;

/// The most connections at once; further ones wait.
const CONNECTIONS: u64 = 8;
/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest request that is read.
const LONGEST: u64 = 16 << 10;

/// Follows a run for Prometheus.
#[derive(Default)]
pub(super) struct Exporter(Mutex<Metrics>);

impl Subscriber for Exporter {
    fn on_record(&self, record: &Record) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(record);
    }
}

/// Begins to answer at an address; the one that it is, where the port was left open with 0.
///
/// # Errors
/// The address is taken or not ours.
pub(super) async fn serve(address: SocketAddr, exporter: Arc<Exporter>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, exporter));
    Ok(address)
}

async fn accept(listener: TcpListener, exporter: Arc<Exporter>) {
    let slots = Slots::fixed("metrics".into(), CONNECTIONS);
    loop {
        let slot = slots.acquire(1).await;
        let Ok((connection, _)) = listener.accept().await else {
            // Out of descriptors for a moment: others may be given back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let exporter = exporter.clone();
        tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, converse(connection, &exporter)).await {
                tracing::debug!(%error, "who asked for metrics has gone");
            }
            drop(slot);
        });
    }
}

async fn converse(mut connection: TcpStream, exporter: &Exporter) -> io::Result<()> {
    let request = head(&mut connection).await?;
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let answer = match (method, path.split('?').next().unwrap_or_default()) {
        ("GET" | "HEAD", "/metrics") => {
            let text = exporter.0.lock().unwrap_or_else(PoisonError::into_inner).render();
            answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", &text, method)
        }
        ("GET" | "HEAD", _) => answer("404 Not Found", "text/plain", "metrics are at /metrics\n", method),
        _ => answer("405 Method Not Allowed", "text/plain", "ask with GET\n", method),
    };
    connection.write_all(answer.as_bytes()).await?;
    connection.shutdown().await
}

/// A request up to the empty line that ends its head.
async fn head(connection: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut limited = connection.take(LONGEST);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && limited.read_buf(&mut head).await? > 0 {}
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn answer(status: &str, kind: &str, text: &str, method: &str) -> String {
    let body = if method == "HEAD" { "" } else { text };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        text.len()
    )
}

/// `9187`, `:9187` or `127.0.0.1:9187`: on this machine alone unless an address says otherwise.
pub(in crate::cli) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    text.parse().map_err(|_| format!("expected `PORT` or `ADDRESS:PORT`, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine_alone() {
        for text in ["9187", ":9187", "127.0.0.1:9187"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:9187");
        }
        assert_eq!(address("0.0.0.0:9187").unwrap().to_string(), "0.0.0.0:9187");
        assert!(address("somewhere").is_err());
    }

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn metrics_are_answered_and_other_things_refused() {
        let address = serve(address("0").unwrap(), Arc::default()).await.unwrap();
        let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\ngisrun_items_total{state=\"done\"} 0\n"), "{answer}");
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 405 "));
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n").await;
        assert!(head.ends_with("\r\n\r\n"), "{head}");
    }

    #[tokio::test]
    async fn clients_that_say_nothing_keep_nobody_waiting_for_ever() {
        let address = serve(address("0").unwrap(), Arc::default()).await.unwrap();
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let answer = ask(address, "GET /metrics HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "after the patience with those has ended");
    }
}
