//! The `durable` command. Everything is in the library.

fn main() -> std::process::ExitCode {
    durable_cli::run()
}
