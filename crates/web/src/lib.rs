//! Server that shows counters of this machine in the browser: a page, a JSON API, streams of samples.
//!
//! A [`Server`] responds on the addresses given to it. One thread collects the counters that viewers request, once an
//! interval, however many viewers there are; another one responds. `docs/web-api.md` describes every request and
//! response.
//!
//! ```no_run
//! use perfset_web::{ServerOptions, Server};
//!
//! let server = Server::open(perfset::local(), ServerOptions::default())?;
//! server.pages().for_each(|page| println!("{page}"));
//! server.run()?;
//! # Ok::<_, perfset_web::ServeError>(())
//! ```

#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::as_conversions, reason = "a test may overflow")
)]

mod access;
mod answer;
mod api;
mod assets;
mod catalogue;
mod compress;
mod connection;
mod error;
mod joined;
mod limits;
mod log;
mod log_routes;
mod logs;
mod overview;
mod places;
mod range;
mod registry;
pub mod report;
pub mod request;
mod sampler;
mod scrape;
mod server;
#[doc(hidden)]
pub mod stepped;
mod stream;
mod token;
mod unread;
mod upload;

pub use access::is_privileged;
pub use error::ServeError;
pub use limits::Limits;
pub use log::{InstantParser, ServedLog};
pub use server::{Server, ServerOptions, Stopper};
pub use token::{Token, TokenError};
pub use upload::UploadOptions;
pub use upload::check::check_log;
