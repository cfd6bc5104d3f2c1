//! Chores of the project: `cargo xtask CHORE`, one module a chore.

use clap::{Parser, Subcommand};

mod repository;
mod api;
mod bench;
mod catalog;
mod dist;
/// Module of counter types, from the source of core, because core cannot be built while generated files are outdated.
#[path = "../../crates/core/src/counter_type.rs"]
#[allow(dead_code, reason = "shared with core, which uses all of it")]
mod counter_type;
/// Module of functions that make names of constants, as manifests and the catalogue use them.
#[path = "../../crates/manifest/src/symbol.rs"]
mod symbol;
mod features;
mod first_build;
mod fleet;
mod fuzz;
mod install;
mod live;
mod mutants;
mod oldest;
mod pictures;
mod progress;
mod standard_library;
mod static_binary;
mod targets;
mod tidy;
mod vectors;
mod windows;

/// The project's own chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    Api(api::Args),
    Bench(bench::Args),
    Catalog(catalog::Args),
    Dist(dist::Args),
    Targets(targets::Args),
    Tidy(tidy::Args),
    Features(features::Args),
    FirstBuild(first_build::Args),
    Fleet(fleet::Args),
    Fuzz(fuzz::Args),
    Live(live::Args),
    Mutants(mutants::Args),
    Oldest(oldest::Args),
    Pictures(pictures::Args),
    Vectors(vectors::Args),
    Windows(windows::Args),
    Static(static_binary::Args),
    Install(install::Args),
}

fn main() -> anyhow::Result<()> {
    match Xtask::parse().chore {
        Chore::Api(args) => api::run(&args),
        Chore::Bench(args) => bench::run(&args),
        Chore::Catalog(args) => catalog::run(&args),
        Chore::Dist(args) => dist::run(&args),
        Chore::Targets(args) => targets::run(&args),
        Chore::Tidy(args) => tidy::run(&args),
        Chore::Features(args) => features::run(&args),
        Chore::FirstBuild(args) => first_build::run(&args),
        Chore::Fleet(args) => fleet::run(&args),
        Chore::Fuzz(args) => fuzz::run(&args),
        Chore::Live(args) => live::run(&args),
        Chore::Mutants(args) => mutants::run(&args),
        Chore::Oldest(args) => oldest::run(&args),
        Chore::Pictures(args) => pictures::run(&args),
        Chore::Vectors(args) => vectors::run(&args),
        Chore::Windows(args) => windows::run(&args),
        Chore::Static(args) => static_binary::run(&args),
        Chore::Install(args) => install::run(&args),
    }
}
