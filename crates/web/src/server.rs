//! The server: its addresses, its connections, its end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

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

use crate::access::Access;
use crate::answer::Problem;
use crate::api::{App, router};
use crate::assets::Assets;
use crate::connection::Patient;
use crate::overview::charts;
use crate::places::{Place, Places, Standing};
use crate::sampler;
use crate::scrape::Scrapes;
use crate::token::{Token, TokenError};
use crate::unread::Unread;

/// How much there may be of everything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Series that have a number, alive or over.
    pub series: usize,
    /// Values that are kept of each series.
    pub values: usize,
    /// Streams that are open.
    pub streams: usize,
    /// Different paths that are collected.
    pub paths: usize,
    /// Connections.
    pub connections: usize,
    /// Connections without a valid token, if one is required, or on which nothing was asked yet. These are part of
    /// `connections`; a new one takes the place of the oldest.
    pub strangers: usize,
    /// Time in which a connection must send its first request, with a valid token if one is required.
    pub first_time: Duration,
    /// How long a further one may take, and a connection may wait for it: longer than the pause between scrapes.
    pub header_time: Duration,
    /// How long a reader may not read.
    pub patience: Duration,
    /// Bytes of responses and events that may wait to be read by clients. Above it, the slowest clients are cut off.
    pub unread: usize,
    /// Bytes of scrapes that may wait to be read; scrapes go on while other clients do not read.
    pub unread_scrapes: usize,
    /// Time for which values are stored. `None` is one hour, or less if [`Limits::values`] samples do not cover it.
    pub history: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            series: 4_000,
            values: 3_600,
            streams: 256,
            paths: 512,
            connections: 512,
            strangers: 64,
            first_time: Duration::from_secs(10),
            header_time: Duration::from_secs(75),
            patience: Duration::from_secs(20),
            unread: 32 << 20,
            unread_scrapes: 16 << 20,
            history: None,
        }
    }
}

impl Limits {
    /// How many samples back values are kept.
    ///
    /// # Errors
    /// If the history needs more samples than can be stored.
    pub(crate) fn depth(&self, interval: Duration) -> Result<usize, ServeError> {
        let history = self.history.unwrap_or(Duration::from_secs(3_600));
        let samples = history.as_nanos().checked_div(interval.as_nanos()).unwrap_or(u128::MAX);
        let samples = usize::try_from(samples).unwrap_or(usize::MAX);
        let most = self.values.max(1);
        let longest = interval.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX));
        match self.history {
            Some(history) if samples > most && !interval.is_zero() => {
                Err(ServeError::History { history, interval, samples, most, longest })
            }
            _ => Ok(samples.clamp(1, most)),
        }
    }
}

/// How to serve.
#[derive(Debug)]
pub struct Options {
    /// Where to listen.
    pub listen: Vec<SocketAddr>,
    /// The time between two samples.
    pub interval: Duration,
    /// Names under which readers know the server, besides its addresses.
    pub hosts: Vec<String>,
    /// What readers must know.
    pub token: Option<Token>,
    /// How much there may be of everything.
    pub limits: Limits,
    /// What `/metrics` gives.
    pub metrics: Vec<CounterPath>,
    /// How it names that.
    pub names: perfset_export::Options,
}

impl Options {
    /// windows_exporter's port, on loopback.
    pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9182);
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: vec![Self::LISTEN],
            interval: Duration::from_secs(1),
            hosts: Vec::new(),
            token: None,
            limits: Limits::default(),
            metrics: perfset_export::default_paths(),
            names: perfset_export::Options::default(),
        }
    }
}

/// The server cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// It cannot listen.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The metrics cannot be had so.
    #[error(transparent)]
    Metrics(#[from] ExportError),
    /// The history needs more samples than can be stored.
    #[error(
        "a history of {} s takes {samples} samples, one each {interval:?}, and {most} are kept: the longest is {} s",
        history.as_secs_f64(), longest.as_secs_f64()
    )]
    History {
        /// Requested history.
        history: Duration,
        /// Time between two samples.
        interval: Duration,
        /// Number of samples in that history.
        samples: usize,
        /// Maximum number of samples stored.
        most: usize,
        /// Longest history that is possible at this interval.
        longest: Duration,
    },
    /// There are no login numbers for browsers.
    #[error("cannot make numbers for logins")]
    Login(#[source] TokenError),
    /// It cannot begin.
    #[error("cannot serve")]
    Start(#[source] io::Error),
    /// The thread that collects ended by itself.
    #[error("the thread that collects ended")]
    Ended,
}

/// A server that listens.
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

/// Ends a server from anywhere.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Ends it: streams are told, answers under way are finished.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// The address of ours that a connection was made to.
#[derive(Clone, Copy, Debug)]
pub struct Local(pub SocketAddr);

impl Server {
    /// Listens, and begins to collect. Nothing is answered before [`run`](Self::run).
    ///
    /// # Errors
    /// If an address is taken or is none of this machine's, the metrics cannot be named so, or the system gives no
    /// thread.
    pub fn open(machine: Machine, options: Options) -> Result<Self, ServeError> {
        let Options { listen, interval, mut hosts, token, limits, metrics, names } = options;
        let depth = limits.depth(interval)?;
        for path in &metrics {
            // Another machine's name must not stand for this one's values.
            perfset::is_local(path.machine.as_deref()).map_err(|error| {
                let (path, error) = (path.to_string(), BindError::Source(error));
                ExportError::Path { path, error }
            })?;
        }
        let exporter = Exporter::open(machine.clone(), &metrics, names)?;
        let waiting = exporter.waiting().cloned().collect();
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for address in listen {
            let listener = listen_on(address).map_err(|source| ServeError::Listen { address, source })?;
            addresses.push(listener.local_addr().map_err(ServeError::Start)?);
            listeners.push(listener);
        }
        let name = perfset::own_name();
        if addresses.iter().any(|address| !address.ip().is_loopback()) {
            hosts.push(name.clone());
        }
        let places = Places::new(limits.connections, limits.strangers);
        let charts = charts(&machine);
        let unread = Unread::new(limits.unread);
        let (sampler, thread) =
            sampler::start(machine, exporter, charts.clone(), interval, limits, unread.clone())
                .map_err(ServeError::Start)?;
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let history = interval.saturating_mul(u32::try_from(depth).unwrap_or(u32::MAX));
        let app = App {
            access: Access::new(hosts, token).map_err(ServeError::Login)?,
            assets: Assets::new(),
            sampler,
            scrapes: Scrapes::default(),
            unread,
            streams: Arc::new(Semaphore::new(limits.streams)),
            charts,
            machine: name,
            system: system(),
            interval_ms: ms(interval),
            history_s: history.as_secs(),
            limits,
            trusted_connections: places.trusted_most(),
        };
        let stop = Arc::new(watch::Sender::new(false));
        Ok(Self { listeners, addresses, app: Arc::new(app), places, sampler: thread, waiting, stop })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address of the page at each of them. It has the token if that was made by chance for this server, and nobody
    /// could know it otherwise; who can see the address may look.
    pub fn pages(&self) -> impl Iterator<Item = String> {
        let token = self.app.access.token().filter(|token| token.is_random());
        let query = token.map_or(String::new(), |token| format!("?token={}", token.secret()));
        self.roots().map(move |root| format!("{root}/{query}"))
    }

    /// The paths of [`Options::metrics`] that waited for their counterset when it began.
    #[must_use]
    pub fn waiting(&self) -> &[CounterPath] {
        &self.waiting
    }

    /// Where scrapers ask, at each of the addresses.
    pub fn metrics(&self) -> impl Iterator<Item = String> {
        self.roots().map(|root| format!("{root}/metrics"))
    }

    fn roots(&self) -> impl Iterator<Item = String> {
        self.addresses.iter().map(|address| match address.ip().is_unspecified() {
            true => format!("http://{}:{}", self.app.machine, address.port()),
            false => format!("http://{address}"),
        })
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Answers until it is stopped.
    ///
    /// # Errors
    /// If the system refuses what it needs, or the thread that collects ends.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(ServeError::Start)?.block_on(self.serve())
    }

    async fn serve(self) -> Result<(), ServeError> {
        /// How long answers may take that are under way when the server ends.
        const FINISH: Duration = Duration::from_secs(5);
        /// How often the thread that collects is looked after.
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
                () = sleep(CARE) => if self.sampler.is_finished() { break true },
            }
        };
        self.stop.send_replace(true);
        self.app.sampler.stop();
        let finished = async { while accepting.join_next().await.is_some() {} };
        let _ = timeout(FINISH, finished).await; // who has not got its answer by then gets none
        if died { Err(ServeError::Ended) } else { Ok(()) }
    }
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    #[cfg(unix)]
    {
        /// What the kernel keeps for a reader that does not read.
        const UNREAD_MOST: usize = 256 << 10;
        /// Connections that the kernel keeps until they are accepted. Many are opened at once by whoever wants to
        /// keep others away; one that finds no place is tried again by its client a second later.
        const WAITING_MOST: i32 = 4096;
        rustix::net::sockopt::set_socket_send_buffer_size(&listener, UNREAD_MOST)?; // connections have it too
        rustix::net::listen(&listener, WAITING_MOST)?; // std asks for 128
    }
    Ok(listener)
}

/// What the machine runs, for people.
#[cfg(not(unix))]
fn system() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// What the machine runs, for people.
#[cfg(unix)]
fn system() -> String {
    let name = rustix::system::uname();
    let (system, release) = (name.sysname().to_string_lossy(), name.release().to_string_lossy());
    format!("{system} {release} {}", name.machine().to_string_lossy())
}

/// Takes connections until the server is stopped, then waits for them to end.
async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    places: Places,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    /// How long to wait when the system has no descriptor for a connection.
    const PAUSE: Duration = Duration::from_millis(100);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
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
        // It is heard before others are let in, so that they do not take its place before it has sent its token.
        tokio::task::yield_now().await;
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// Answers the requests of a connection.
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
    let [mut trusted, mut refused, mut over] = [place.standing(), place.standing(), place.standing()];
    let place_of_requests = Arc::clone(&place);
    let (has_asked, asked) = watch::channel(false);
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.send_replace(true);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Local(local));
        request.extensions_mut().insert(Arc::clone(&place_of_requests));
        router.clone().call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(64)
        .max_buf_size(64 << 10);
    let mut serving = http.serve_connection(Patient::new(stream, limits.patience), service);
    let is_late = async {
        let is_trusted = trusted.wait_for(|standing| *standing == Standing::Trusted);
        if timeout(limits.first_time, is_trusted).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let is_refused = async {
        /// How long one that has to go may still send its token: its program may not have run since it connected.
        const GRACE: Duration = Duration::from_millis(100);
        let has_gone = |standing: &Standing| matches!(standing, Standing::Refused | Standing::Over);
        let is_settled = |standing: &Standing| matches!(standing, Standing::Trusted | Standing::Over);
        let _ = refused.wait_for(has_gone).await;
        let settled = timeout(GRACE, refused.wait_for(is_settled)).await;
        if settled.is_ok_and(|standing| standing.is_ok_and(|standing| *standing == Standing::Trusted)) {
            std::future::pending::<()>().await;
        }
    };
    // What goes wrong with a connection is its other end's matter.
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

/// Returns the response to a connection on which no request was read.
fn refusal(status: &str, error: &str) -> String {
    let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, error).to_json();
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
        let want =
            "a history of 86400 s takes 86400 samples, one each 1s, and 3600 are kept: the longest is 3600 s";
        assert_eq!(depth(Some(86_400), 1_000), Err(want.to_owned()));
        assert!(depth(Some(3_600), 999).is_err());
    }
}
