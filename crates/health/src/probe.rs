//! One check of one server.

use std::sync::Arc;

use forebay_config::settings::{HealthCheck, Probe};
use forebay_stream::Stream;
use forebay_upstream::{Pool, Server, connect};
use tokio::time::timeout;

use crate::ask;
use crate::response::{MOST_BYTES, Response, Wanted};

/// Asks a server how it is.
///
/// # Errors
/// It is not well: why, in words for the log.
pub(crate) async fn probe(
    pool: &Arc<Pool>,
    server: &Server,
    check: &HealthCheck,
) -> Result<(), String> {
    let asking = async {
        let stream = connect(pool, server, check.timeout).await;
        let mut stream = stream.map_err(|error| error.reason().to_owned())?;
        match &check.probe {
            Probe::Tcp => Ok(()),
            Probe::Request {
                path,
                host,
                statuses,
                body,
            } => {
                let request = ask::request(pool.settings.protocol, path, host);
                let sent = stream.write_all(&request).await;
                sent.map_err(|error| format!("the request cannot be sent: {error}"))?;
                let wanted = Wanted {
                    statuses,
                    body: body.as_deref(),
                };
                let response = Response::new(pool.settings.protocol);
                receive(&mut stream, response, &wanted).await
            }
        }
    };
    let asked = timeout(check.timeout, asking).await;
    asked.unwrap_or_else(|_| Err(format!("no answer within {:?}", check.timeout)))
}

async fn receive(
    stream: &mut Stream,
    mut response: Response,
    wanted: &Wanted<'_>,
) -> Result<(), String> {
    let mut buffer = vec![0; 16 << 10];
    let mut received = 0;
    loop {
        let read = stream.read(&mut buffer).await;
        let read = read.map_err(|error| format!("the response cannot be read: {error}"))?;
        response.add(&buffer[..read])?;
        if let Some(judged) = response.judge(wanted) {
            return judged;
        }
        received += read;
        if read == 0 || received > MOST_BYTES {
            return Err("the response is not complete".into());
        }
    }
}
