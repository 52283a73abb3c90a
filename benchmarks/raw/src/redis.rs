//! How many commits Redis takes when each is one script: one by one, and with 64 of
//! them on their way. It speaks just enough of the protocol for that.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use bench_harness::{Measured, Problem};

const SCRIPT: &str = include_str!("commit.lua");
/// How many are on their way at once.
const IN_FLIGHT: u64 = 64;
/// Over so many instances the commits are spread.
const INSTANCES: u64 = 1_000;
/// About the size of an entry of a history.
const PAYLOAD: &str = "0123456789012345678901234567890123456789012345678901234567890123";

/// Commits so often, both ways.
pub(crate) fn measure(server: &str, count: u64) -> Result<Measured, Problem> {
    let mut redis = Redis::connect(server)?;
    redis.send(&["SCRIPT", "LOAD", SCRIPT])?;
    let sha = redis.answer()?;
    let alone = redis.commit(&sha, "alone", count / 5, 1)?;
    let pipelined = redis.commit(&sha, "together", count, IN_FLIGHT)?;
    Ok(Measured::new(
        format!("redis {count}"),
        [("one_by_one_per_s", alone), ("pipelined_per_s", pipelined)],
    ))
}

struct Redis {
    stream: BufReader<TcpStream>,
}

impl Redis {
    fn connect(server: &str) -> Result<Self, Problem> {
        let address = server
            .strip_prefix("redis://")
            .ok_or("the server is not named")?;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Commits per second.
    fn commit(
        &mut self,
        sha: &str,
        prefix: &str,
        count: u64,
        in_flight: u64,
    ) -> Result<f64, Problem> {
        let began = Instant::now();
        let mut done = 0;
        while done < count {
            let batch = in_flight.min(count - done);
            for number in done..done + batch {
                self.send_commit(sha, prefix, number)?;
            }
            for _ in 0..batch {
                let answer = self.answer()?;
                if answer != "OK" {
                    return Err(format!("a commit was answered with {answer}").into());
                }
            }
            done += batch;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    fn send_commit(&mut self, sha: &str, prefix: &str, number: u64) -> Result<(), Problem> {
        let instance = number % INSTANCES;
        let last = (number / INSTANCES * 2).to_string();
        let key = |kind: &str| format!("{{{prefix}}}:{kind}:{instance}");
        let (own, history, work) = (key("i"), key("h"), key("w"));
        self.send(&[
            "EVALSHA", sha, "3", &own, &history, &work, "1", &last, PAYLOAD,
        ])
    }

    fn send(&mut self, words: &[&str]) -> Result<(), Problem> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            write!(command, "${}\r\n{word}\r\n", word.len())?;
        }
        Ok(self.stream.get_mut().write_all(command.as_bytes())?)
    }

    /// A simple or a bulk string.
    fn answer(&mut self) -> Result<String, Problem> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.trim_end();
        if let Some(length) = line.strip_prefix('$') {
            let mut bytes = vec![0; length.parse::<usize>()? + 2];
            self.stream.read_exact(&mut bytes)?;
            return Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned());
        }
        match line.strip_prefix('+') {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("Redis says {line}").into()),
        }
    }
}
