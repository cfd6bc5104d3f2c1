//! Example of a small HTTP server that publishes its counters.
//!
//! ```sh
//! cargo run -p perfset --example http_counters                      # then, in another terminal:
//! perfset get '\Http Example(*)\*' 1
//! cargo run -p perfset --example http_counters -- --processes 4     # the same with four processes behind one address
//! ```
//!
//! Answers `/`, `/users` and `/slow`, everything else with 404, on 127.0.0.1:8080 or where `--address` says. Ends with
//! Ctrl+C.

use std::collections::HashMap;
use std::error::Error;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perfset::publish::{self, AverageTimer, Counter64, Counterset, Gauge, PublishedInstance};
use tiny_http::{Request, Response, Server};

/// Requests of one route of the example server.
#[derive(Counterset)]
#[counterset(provider = "Http Example", name = "Http Example", instances = "multiple", stripes = 8)]
struct Route {
    /// Requests to the route that got a response.
    #[counter(name = "Requests/sec", unit = "/s")]
    requests: Counter64,
    /// Requests to the route that got a response since the program started.
    #[counter(name = "Requests", type = "perf_counter_large_rawcount")]
    total: Counter64,
    /// Mean time from a request to the route to its response.
    #[counter(name = "Average Latency", unit = "s")]
    latency: AverageTimer,
    /// Requests to the route that have no response yet.
    #[counter(name = "Active Requests")]
    active: Gauge,
}

/// Route that the server knows: its counters, and the text of its response.
struct Known {
    counters: PublishedInstance<Route>,
    text: fn() -> String,
}

struct Routes {
    known: HashMap<&'static str, Known>,
    others: PublishedInstance<Route>,
}

impl Routes {
    fn new() -> Self {
        let slow = || {
            thread::sleep(Duration::from_millis(20));
            "at last\n".to_owned()
        };
        let route = |path: &'static str, text| {
            (path, Known { counters: Route::instance(&format!("GET {path}")), text })
        };
        let known = HashMap::from([
            route("/", || "hello\n".to_owned()),
            route("/users", || "ada\ngrace\n".to_owned()),
            route("/slow", slow),
        ]);
        Self { known, others: Route::instance("others") }
    }

    fn answer(&self, request: Request) {
        let path = request.url().split('?').next().unwrap_or_default();
        let known = self.known.get(path);
        let route = known.map_or(&self.others, |known| &known.counters);
        let _active = route.active.enter();
        let timing = route.latency.start();
        let response = match known {
            Some(known) => Response::from_string((known.text)()),
            None => Response::from_string("not found\n").with_status_code(404),
        };
        // Counted before it is sent: who has the answer finds it counted.
        drop(timing);
        route.requests.increment();
        route.total.increment();
        if let Err(error) = request.respond(response) {
            eprintln!("a client went away: {error}");
        }
    }
}

/// Handles HTTP requests on a socket, with this number of threads.
fn serve(listener: TcpListener, threads: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    if let Some(problem) = publish::problem() {
        eprintln!("nobody will see the counters: {problem}");
    }
    let server = Server::from_listener(listener, None)?;
    let routes = Arc::new(Routes::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Ok(request) = server.recv() {
                    routes.answer(request);
                }
            });
        }
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut address, mut processes) = ("127.0.0.1:8080".to_owned(), 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match (&*word, words.next()) {
            ("--address", Some(value)) => address = value,
            ("--processes", Some(value)) => processes = value.parse()?,
            // One of several: the socket is its standard input.
            ("--worker", None) => return serve(std::io::stdin().as_fd().try_clone_to_owned()?.into(), 4),
            _ => return Err("usage: http_counters [--address HOST:PORT] [--processes N]".into()),
        }
    }
    let listener = TcpListener::bind(&address)?;
    println!("http://{}", listener.local_addr()?);
    if processes == 1 {
        return serve(listener, 4);
    }
    let worker = || {
        let socket: OwnedFd = listener.try_clone()?.into();
        Command::new(std::env::current_exe()?).arg("--worker").stdin(Stdio::from(socket)).spawn()
    };
    let mut workers = (0..processes).map(|_| worker()).collect::<Result<Vec<_>, _>>()?;
    workers.iter_mut().try_for_each(|worker| worker.wait().map(drop))?;
    Ok(())
}
