//! The launcher as a program of its own, for this crate's tests. In the product, the launcher is a
//! hidden command of the main binary.

fn main() -> std::process::ExitCode {
    system::run_sandboxed(&[], std::env::args().skip(1))
}
