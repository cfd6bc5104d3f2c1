//! HTTP server: its addresses, its connections and its end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use perfset::Machine;
use perfset::path::BindError;
use perfset::path::CounterPath;
use perfset_export::{ExportError, Exporter};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_service::Service;

use crate::access::{Access, Local};
use crate::answer::ApiError;
use crate::api::{App, router};
use crate::assets::Assets;
use crate::connection::TimeoutStream;
use crate::error::ServeError;
use crate::limits::Limits;
use crate::log::ServedLog;
use crate::logs::{LogKind, LogLabel, NamedLog, ShownSource};
use crate::overview::charts;
use crate::places::{Place, Places, Standing};
use crate::registry::LogRegistry;
use crate::sampler;
use crate::scrape::Scrapes;
use crate::token::Token;
use crate::unread::UnreadBytes;
use crate::upload::{UploadOptions, Uploads};

/// Settings of the HTTP server.
#[derive(Debug)]
pub struct ServerOptions {
    /// Addresses on which the server listens.
    pub listen: Vec<SocketAddr>,
    /// Time between two samples that the server takes.
    pub interval: Duration,
    /// Host names under which clients know the server, in addition to its addresses.
    pub hosts: Vec<String>,
    /// Token that clients must know; `None` if the server requires none.
    pub token: Option<Token>,
    /// Limits of the server for connections, streams, series and stored values.
    pub limits: Limits,
    /// Counter paths that `/metrics` exports.
    pub metrics: Vec<CounterPath>,
    /// Options for the metrics that `/metrics` exports, such as their names.
    pub names: perfset_export::ExportOptions,
    /// Recording of this machine, for requests about past times; a recorder may still write to it.
    pub recording: Option<ServedLog>,
    /// Further logs that the server shows, with the names by which clients select them.
    pub compare: Vec<(String, ServedLog)>,
    /// Options for logs that clients may upload; `None` if they may upload none.
    pub uploads: Option<UploadOptions>,
}

impl ServerOptions {
    /// Default address on which the server listens: windows_exporter's port, on loopback.
    pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9182);
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: vec![Self::LISTEN],
            interval: Duration::from_secs(1),
            hosts: Vec::new(),
            token: None,
            limits: Limits::default(),
            metrics: perfset_export::default_paths(&[]),
            names: perfset_export::ExportOptions::default(),
            recording: None,
            compare: Vec::new(),
            uploads: None,
        }
    }
}

/// HTTP server that listens on its addresses.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    app: Arc<App>,
    places: Places,
    sampler: std::thread::JoinHandle<()>,
    waiting: Vec<CounterPath>,
    stop: Arc<watch::Sender<bool>>,
}

/// Handle that stops a server from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Stops the server: streams receive an end event, and responses in progress are finished.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens a server: listens, and begins to collect. No request is served before [`run`](Self::run).
    ///
    /// # Errors
    /// If an address is in use or does not belong to this machine, the metrics cannot be exported with these options,
    /// or the system creates no thread.
    pub fn open(machine: Machine, options: ServerOptions) -> Result<Self, ServeError> {
        let depth = options.limits.depth(options.interval)?;
        // Everything that can fail because of the options comes before the threads are started.
        for path in &options.metrics {
            // Another machine's name must not stand for this one's values.
            perfset::is_local(path.machine.as_deref()).map_err(|error| {
                let (path, error) = (path.to_string(), BindError::Source(error));
                ExportError::Path { path, error }
            })?;
        }
        let exporter = Exporter::open(machine.clone(), &options.metrics, options.names.clone())?;
        #[cfg(target_os = "linux")]
        let exporter = match perfset::inventory() {
            Some(reader) => exporter.with_inventory(reader),
            None => exporter,
        };
        let waiting = exporter.waiting().cloned().collect();
        let listening = Listening::new(&options)?;
        let charts = charts(&machine);
        let ServerOptions { interval, limits, .. } = options;
        let unread = UnreadBytes::new(limits.unread);
        let (sampler, thread) =
            sampler::start((machine, None), exporter, charts.clone(), interval, limits, unread.clone())
                .map_err(ServeError::Start)?;
        let history = interval.saturating_mul(u32::try_from(depth).unwrap_or(u32::MAX));
        let shown = ShownSource {
            sampler,
            charts,
            machine: perfset::own_name(),
            system: system(),
            interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            history_s: history.as_secs(),
        };
        let server = Self::with((shown, thread), Vec::new(), unread, listening, options)?;
        Ok(Self { waiting, ..server })
    }

    /// Opens a server that shows a log instead of a machine: its page, its values at any time, and no metrics.
    /// [`ServerOptions::interval`] is the least time between two samples of a stream.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), or if the log has no sample in the time to show.
    pub fn open_log(log: ServedLog, options: ServerOptions) -> Result<Self, ServeError> {
        let listening = Listening::new(&options)?;
        let unread = UnreadBytes::new(options.limits.unread);
        let name = log.name();
        let label = LogLabel { id: "log".to_owned(), name, kind: LogKind::Log };
        let (log, thread) = NamedLog::open(label, log, options.interval, options.limits, &unread)?;
        let shown = log.shown.clone();
        Self::with((shown, thread), vec![Arc::new(log)], unread, listening, options)
    }

    /// Opens a server whose collecting thread already runs. `logs` has the log that it shows.
    fn with(
        (shown, sampler): (ShownSource, std::thread::JoinHandle<()>),
        mut logs: Vec<Arc<NamedLog>>,
        unread: UnreadBytes,
        Listening { listeners, addresses }: Listening,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let ServerOptions { interval, mut hosts, token, limits, recording, compare, uploads, .. } = options;
        let host = perfset::own_name();
        // Clients of other machines use this machine's name, which the Host check must know.
        if addresses.iter().any(|address| !address.ip().is_loopback()) {
            hosts.push(host.clone());
        }
        let label = |log: &ServedLog| LogLabel {
            id: "recording".to_owned(),
            name: log.name(),
            kind: LogKind::Recording,
        };
        let recording = recording.map(|log| (label(&log), log));
        let others = compare.into_iter().zip(1_usize..).map(|((name, log), number)| {
            (LogLabel { id: format!("log-{number}"), name, kind: LogKind::Log }, log)
        });
        for (label, log) in recording.into_iter().chain(others) {
            let name = label.name.clone();
            let opened = NamedLog::open(label, log, interval, limits, &unread);
            let opened = opened.map_err(|error| match error {
                ServeError::Log(text) => ServeError::Log(format!("{name}: {text}")),
                other => other,
            });
            logs.push(Arc::new(opened?.0));
        }
        let places = Places::new(limits.connections, limits.strangers);
        let uploads = uploads.map(|options| Uploads::new(options, interval, limits, unread.clone()));
        let app = App {
            access: Access::new(hosts, token).map_err(ServeError::Login)?,
            assets: Assets::new(),
            shown,
            logs: LogRegistry::new(logs, uploads),
            scrapes: Scrapes::default(),
            unread,
            streams: Arc::new(Semaphore::new(limits.streams)),
            host,
            limits,
            trusted_connections: places.trusted_most(),
        };
        let stop = Arc::new(watch::Sender::new(false));
        Ok(Self { listeners, addresses, app: Arc::new(app), places, sampler, waiting: Vec::new(), stop })
    }

    /// Returns the addresses on which the server listens.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the address of the server's page for each listening address. It contains the token if that was created
    /// at random for this server, because users could not know it otherwise. Any user who sees the address may view
    /// the page.
    pub fn pages(&self) -> impl Iterator<Item = String> {
        let token = self.app.access.token().filter(|token| token.is_random());
        let query = token.map_or(String::new(), |token| format!("?token={}", token.secret()));
        self.roots().map(move |root| format!("{root}/{query}"))
    }

    /// Returns the counter paths of [`ServerOptions::metrics`] that waited for their counterset when the server was
    /// opened.
    #[must_use]
    pub fn waiting(&self) -> &[CounterPath] {
        &self.waiting
    }

    /// Returns the address of the metrics for each address on which the server listens.
    pub fn metrics(&self) -> impl Iterator<Item = String> {
        self.roots().map(|root| format!("{root}/metrics"))
    }

    fn roots(&self) -> impl Iterator<Item = String> {
        self.addresses.iter().map(|address| match address.ip().is_unspecified() {
            true => format!("http://{}:{}", self.app.host, address.port()),
            false => format!("http://{address}"),
        })
    }

    /// Returns the times of the first and the last sample of the recording of this machine, in milliseconds since 1970;
    /// `None` if the server has no recording.
    #[must_use]
    pub fn recorded(&self) -> Option<[i64; 2]> {
        self.app.logs.recording().map(|log| log.span.0)
    }

    /// Returns a handle that stops the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Serves requests until the server is stopped.
    ///
    /// # Errors
    /// If the system refuses a resource that the server needs, or the collecting thread ends.
    pub fn run(self) -> Result<(), ServeError> {
        // One thread is enough: samples are taken on their own thread, and responses are mostly copies.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(ServeError::Start)?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), ServeError> {
        /// Maximum time for the responses in progress when the server ends.
        const FINISH: Duration = Duration::from_secs(5);
        /// Interval between checks that the server's collecting thread still runs.
        const CARE: Duration = Duration::from_millis(500);
        let mut stopped = self.stop.subscribe();
        let router = router(Arc::clone(&self.app));
        let places = self.places;
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(ServeError::Start)?;
            let (router, places, stop) = (router.clone(), places.clone(), self.stop.subscribe());
            accepting.spawn(accept(listener, router, places, self.app.limits, stop));
        }
        let died = loop {
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => break false,
                // Without the collecting thread the server would respond with old values forever.
                () = sleep(CARE) => {
                    if self.sampler.is_finished() {
                        break true;
                    }
                    self.app.logs.uploads.iter().for_each(|uploads| uploads.expire(Instant::now()));
                }
            }
        };
        // Also if the sampler ended: the connections must end, too.
        self.stop.send_replace(true);
        self.app.shown.sampler.stop();
        let finished = async { while accepting.join_next().await.is_some() {} };
        let _ = timeout(FINISH, finished).await; // who has not got its answer by then gets none
        if died { Err(ServeError::Ended) } else { Ok(()) }
    }
}

/// Sockets on which the server listens, with their addresses.
struct Listening {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

impl Listening {
    fn new(options: &ServerOptions) -> Result<Self, ServeError> {
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for address in options.listen.iter().copied() {
            let listener = listen_on(address).map_err(|source| ServeError::Listen { address, source })?;
            addresses.push(listener.local_addr().map_err(ServeError::Start)?);
            listeners.push(listener);
        }
        Ok(Self { listeners, addresses })
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    #[cfg(unix)]
    {
        /// Number of bytes that the kernel buffers for a client that does not read.
        const UNREAD_MOST: usize = 256 << 10;
        /// Number of connections that the kernel queues until they are accepted. A client that wants to keep others
        /// away opens many at once. A connection that finds no place is tried again by its client a second later.
        const WAITING_MOST: i32 = 4096;
        rustix::net::sockopt::set_socket_send_buffer_size(&listener, UNREAD_MOST)?; // connections have it too
        rustix::net::listen(&listener, WAITING_MOST)?; // std asks for 128
    }
    Ok(listener)
}

/// Returns the name of the operating system for users.
#[cfg(not(unix))]
fn system() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Returns the name of the operating system for users.
#[cfg(unix)]
fn system() -> String {
    let name = rustix::system::uname();
    let (system, release) = (name.sysname().to_string_lossy(), name.release().to_string_lossy());
    format!("{system} {release} {}", name.machine().to_string_lossy())
}

/// Accepts connections until the server is stopped, then waits for the ends of the connections.
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    places: Places,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    /// Time to wait before accepting again if the system has no file descriptor for a connection.
    const PAUSE: Duration = Duration::from_millis(100);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            // A task that has ended stays in the set until it is joined.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        // Usually the process has no file descriptors left. Trying again at once would use a whole processor.
        let Ok((stream, peer)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        drop(connections.spawn(connection(
            stream,
            router.clone(),
            limits,
            stop.clone(),
            places.enter(peer.ip()),
        )));
        // The connection runs before others are accepted, so that they do not take its place before it has sent its
        // token.
        tokio::task::yield_now().await;
    }
    // Closed before waiting: the kernel then refuses new connections, which would otherwise wait in its queue
    // for a server that ends.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Serves the HTTP requests of a connection.
async fn connection(
    stream: TcpStream,
    router: Router,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
    place: Place,
) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true); // events are small, and wait for no others
    let place = Arc::new(place);
    // Three receivers of the same state, because each of the waits below borrows one.
    let [mut trusted, mut refused, mut over] = [place.standing(), place.standing(), place.standing()];
    let place_of_requests = Arc::clone(&place);
    let (has_asked, asked) = watch::channel(false);
    let service = service_fn(move |request: Request<Incoming>| {
        // A connection that has received a response must be closed properly; one without can get the refusal.
        has_asked.send_replace(true);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Local(local));
        request.extensions_mut().insert(Arc::clone(&place_of_requests));
        router.clone().call(request)
    });
    let mut http = http1::Builder::new();
    // Limits for the request line and headers, because no request here needs more.
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(64)
        .max_buf_size(64 << 10);
    let mut serving = http.serve_connection(TimeoutStream::new(stream, limits.patience), service);
    let is_late = async {
        let is_trusted = trusted.wait_for(|standing| *standing == Standing::Trusted);
        if timeout(limits.first_time, is_trusted).await.is_ok() {
            // A trusted connection has no such limit.
            std::future::pending::<()>().await;
        }
    };
    let is_refused = async {
        /// Time in which a connection that lost its slot may still send its token: its program may not have run since
        /// it connected.
        const GRACE: Duration = Duration::from_millis(100);
        let has_gone = |standing: &Standing| matches!(standing, Standing::Refused | Standing::Over);
        let is_settled = |standing: &Standing| matches!(standing, Standing::Trusted | Standing::Over);
        let _ = refused.wait_for(has_gone).await;
        let settled = timeout(GRACE, refused.wait_for(is_settled)).await;
        if settled.is_ok_and(|standing| standing.is_ok_and(|standing| *standing == Standing::Trusted)) {
            std::future::pending::<()>().await;
        }
    };
    // Errors of a connection concern only its client.
    let refusal = tokio::select! {
        biased; // a request that has arrived is answered, whatever else has happened
        _ = &mut serving => return,
        () = is_late => Some(refusal("408 Request Timeout", "no request came in time")),
        () = is_refused => {
            Some(refusal("503 Service Unavailable", "there are too many connections"))
        }
        _ = stop.wait_for(|stopped| *stopped) => None,
    };
    let Some(refusal) = refusal else {
        // The response in progress is finished, and no further request is read.
        std::pin::Pin::new(&mut serving).graceful_shutdown();
        let _ = serving.await;
        return;
    };
    let mut stream = serving.into_parts().io;
    let has_answer = *asked.borrow();
    let leave = async { if has_answer { stream.end().await } else { stream.refuse(&refusal).await } };
    tokio::select! {
        biased; // the refusal is sent at least, also if there is no time to wait until it is read
        () = leave => {}
        _ = over.wait_for(|standing| *standing == Standing::Over) => {}
    }
}

/// Returns the error response for a connection whose requests were not read.
fn refusal(status: &str, error: &str) -> String {
    let problem = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error).to_json();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 2\r\n\
         Connection: close\r\n\r\n{problem}",
        problem.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths() {
        let depth = |history_s: Option<u64>, interval_ms| {
            let limits = Limits { history: history_s.map(Duration::from_secs), ..Limits::default() };
            limits.depth(Duration::from_millis(interval_ms)).map_err(|error| error.to_string())
        };
        for (history_s, interval_ms, want) in [
            (None, 1_000, 3_600),
            (None, 10_000, 360),
            (None, 100, 3_600),
            (None, 7_200_000, 1),
            (None, 0, 3_600),
            (Some(3_600), 1_000, 3_600),
            (Some(86_400), 24_000, 3_600),
            (Some(1), 10_000, 1),
            (Some(1), 0, 3_600),
        ] {
            assert_eq!(depth(history_s, interval_ms), Ok(want), "{history_s:?} {interval_ms}");
        }
        let want = "a history of 86400 s needs 86400 samples, one per 1s; 3600 fit: the longest is 3600 s";
        assert_eq!(depth(Some(86_400), 1_000), Err(want.to_owned()));
        assert!(depth(Some(3_600), 999).is_err());
    }
}
