//! The server of a scenario: it has its own thread and ends with the scenario. Connections may be many and requests may
//! have any size, but the stored data are limited.

use std::fs::File;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http::{Request as Asked, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::ledger::{AnsweredRequest, Ledger, MOST_BODY};
use super::record::{MockRecord, ReceivedRequest};
use super::routes::{Routes, normal_path};

/// How many connections are served at once at most; the next one waits until one of them ends.
const MOST_CONNECTIONS: usize = 100;
/// The maximum size of the request line and the headers in bytes; status 431 rejects a longer head.
const MOST_HEAD: usize = 64 << 10;
/// If the system reports no new data this many times in a row, no more data will come.
const QUIET_TURNS: usize = 16;
/// How long to wait for requests that still arrive after the pipeline has ended.
const LONGEST_SETTLING: Duration = Duration::from_secs(2);
/// How long to wait if the system had no descriptor for another connection.
const PAUSE: Duration = Duration::from_millis(10);

/// A running server. When it is dropped, its port is closed and its thread has ended.
#[derive(Debug)]
pub(super) struct MockServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    orders: Option<UnboundedSender<Sender<()>>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    routes: Arc<Routes>,
    ledger: Mutex<Ledger>,
    /// A counter that grows with everything that arrives.
    arrivals: AtomicU64,
}

impl Shared {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        let ledger = self.ledger.lock();
        ledger.expect("nothing that holds the ledger panics")
    }

    fn arrived(&self) {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }
}

impl MockServer {
    /// Starts a server on a free local port that only programs on this machine can reach. Fails if the system has no
    /// port or no thread for the server.
    pub(super) fn start(service: &str, routes: Arc<Routes>, log: Option<File>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let shared = Arc::new(Shared {
            routes,
            ledger: Mutex::new(Ledger::new(service, log)),
            arrivals: AtomicU64::new(0),
        });
        let (orders, taken) = unbounded_channel();
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("mock".to_owned())
            .spawn(move || work(&runtime, listener, &served, taken))?;
        Ok(Self {
            address,
            shared,
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    /// The URL of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of the server as a host and a port.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    /// The record of the server. It does not change after the first call: the pipeline has ended, and everything that
    /// it sent is read first. Fails if the audit log could not be written, or if the server has ended unexpectedly.
    pub(super) fn settle(&self) -> Result<Arc<MockRecord>, String> {
        let (done, wait) = channel();
        let is_sent = self
            .orders
            .as_ref()
            .is_some_and(|orders| orders.send(done).is_ok());
        if !is_sent || wait.recv().is_err() {
            return Err("the server has stopped before its time".to_owned());
        }
        self.shared.ledger().settle()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        // The thread ends when nobody can send it orders any more.
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // The thread has already reported a panic, and a finished scenario does not need it any more.
            let _ = thread.join();
        }
    }
}

/// Runs the server until nobody can send orders any more.
fn work(
    runtime: &Runtime,
    listener: TcpListener,
    shared: &Arc<Shared>,
    mut orders: UnboundedReceiver<Sender<()>>,
) {
    runtime.spawn(accept(listener, Arc::clone(shared)));
    runtime.block_on(async {
        while let Some(done) = orders.recv().await {
            quiet(shared).await;
            // The caller may have ended.
            let _ = done.send(());
        }
    });
}

/// Waits until no more data arrive. Data that a process sent before its end are already in the buffers of this machine,
/// so no waiting time is needed: it is enough that the system reports no new data.
async fn quiet(shared: &Shared) {
    let end = Instant::now() + LONGEST_SETTLING;
    let arrivals = || shared.arrivals.load(Ordering::Relaxed);
    let (mut seen, mut turns) = (arrivals(), 0);
    while turns < QUIET_TURNS && Instant::now() < end {
        tokio::task::yield_now().await;
        let now = arrivals();
        turns = if now == seen { turns + 1 } else { 0 };
        seen = now;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                shared.arrived();
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    serve(stream, shared).await;
                    drop(place);
                });
            }
            // The connection was already closed, or there are too many open files.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|asked| answer(asked, Arc::clone(&shared)));
    let served = http1::Builder::new()
        // A client may close its side after its request.
        .half_close(true)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if served.is_err_and(|error| error.is_parse()) {
        shared.ledger().garbled();
    }
}

/// Reads a request completely, and answers it.
fn answer(
    asked: Asked<Incoming>,
    shared: Arc<Shared>,
) -> impl Future<Output = hyper::Result<Response<Full<Bytes>>>> {
    shared.arrived();
    shared.ledger().begin();
    async move {
        let (head, body) = asked.into_parts();
        let (body, size) = read(body, &shared).await?;
        let path = normal_path(head.uri.path());
        let answer = shared.routes.answer(&head.method, &path);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let request = ReceivedRequest {
            method: head.method.as_str().to_uppercase(),
            path,
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())))
                .collect(),
            body,
            size,
        };
        let answered = AnsweredRequest {
            status: answer.status.as_u16(),
            body: &answer.body,
        };
        shared.ledger().note(request, &answered);
        let mut response = Response::new(Full::new(answer.body.clone()));
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers.clone();
        Ok(response)
    }
}

/// The beginning of a body, and its whole size.
async fn read(mut body: Incoming, shared: &Shared) -> hyper::Result<(Vec<u8>, u64)> {
    let (mut kept, mut size) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        shared.arrived();
        if let Ok(data) = frame?.into_data() {
            size += data.len() as u64;
            let room = MOST_BODY - kept.len();
            kept.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
    Ok((kept, size))
}
