//! The lines of a trace file, one at a time, with the hash of its bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::Source;
use super::zstd::{self, Zstd};
use crate::error::{Problem, TraceError};

/// No sensible row is longer, and no sensible gap between two; a longer one is a binary file or a
/// decompression bomb.
const LONGEST_LINE: u64 = 64 << 20;
const BUFFER: usize = 256 << 10;

/// The lines of one file, plain, gzip or zstd.
pub(super) struct Lines {
    path: PathBuf,
    reader: Input,
    line: Vec<u8>,
    number: u64,
}

enum Input {
    Plain(BufReader<Hashed>),
    Gzip(Box<BufReader<MultiGzDecoder<BufReader<Hashed>>>>),
    Zstd(Box<BufReader<Zstd<BufReader<Hashed>>>>),
}

/// Hashes every byte that goes by.
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = |error: io::Error| {
            let what = format!("cannot be read: {error}");
            whole(
                path,
                what,
                "a trace file",
                "check the path and its permissions",
            )
        };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            let fix = "name the file inside it";
            return Err(whole(path, "is a directory", "a trace file", fix));
        }
        let mut raw = BufReader::with_capacity(
            BUFFER,
            Hashed {
                file,
                hash: Sha256::new(),
            },
        );
        let head = raw.fill_buf().map_err(failed)?;
        let reader = if head.starts_with(&[0x1f, 0x8b]) {
            let unpacked = MultiGzDecoder::new(raw);
            Input::Gzip(Box::new(BufReader::with_capacity(BUFFER, unpacked)))
        } else if head.starts_with(&zstd::MAGIC) {
            let unpacked = Zstd::new(raw);
            Input::Zstd(Box::new(BufReader::with_capacity(BUFFER, unpacked)))
        } else {
            Input::Plain(raw)
        };
        Ok(Self {
            path: path.to_path_buf(),
            reader,
            line: Vec::new(),
            number: 0,
        })
    }

    /// The next line that is not blank, without its end, and its number from 1.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, TraceError> {
        let mut blank = 0;
        loop {
            self.line.clear();
            self.number += 1;
            let reader: &mut dyn BufRead = match &mut self.reader {
                Input::Plain(reader) => reader,
                Input::Gzip(reader) => reader.as_mut(),
                Input::Zstd(reader) => reader.as_mut(),
            };
            let mut limited = reader.take(LONGEST_LINE);
            let count = limited.read_until(b'\n', &mut self.line).map_err(|error| {
                let what = format!("cannot be read on: {error}");
                let fix = "the file may be cut off; fetch it again";
                self.problem(Problem::new(what, "the rest of the file", fix))
            })?;
            if count == 0 {
                return Ok(None);
            }
            blank += count as u64;
            if blank >= LONGEST_LINE {
                let kind = if count as u64 == LONGEST_LINE {
                    "the line is"
                } else {
                    "the blank lines up to this one are"
                };
                let what = format!("{kind} longer than {} MiB", LONGEST_LINE >> 20);
                let fix = "check that this is a JSON Lines trace";
                return Err(self.problem(Problem::new(what, "one request a line", fix)));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        if self.line.contains(&0) {
            let fix = "the file is damaged or binary; fetch it again";
            return Err(self.problem(Problem::new("holds a NUL byte", "text", fix)));
        }
        let mut line = self.line.as_slice();
        if self.number == 1 {
            // Editors of some systems put a byte order mark there; it means nothing in UTF-8.
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some((self.number, text.trim_end()))),
            Err(error) => {
                let what = format!("byte {} of the line is not UTF-8", error.valid_up_to() + 1);
                let fix = "convert the file to UTF-8";
                Err(self.problem(Problem::new(what, "UTF-8 text", fix)))
            }
        }
    }

    /// A problem with the current line.
    pub(super) fn problem(&self, problem: Problem) -> TraceError {
        TraceError {
            file: self.path.clone(),
            line: Some(self.number),
            problem,
        }
    }

    /// Reads what is left and returns the file's name and hash.
    pub(super) fn finish(self) -> Result<Source, TraceError> {
        let raw = match self.reader {
            Input::Plain(reader) => reader,
            Input::Gzip(reader) => reader.into_inner().into_inner(),
            Input::Zstd(reader) => reader.into_inner().into_inner(),
        };
        let mut hashed = raw.into_inner();
        io::copy(&mut hashed, &mut io::sink()).map_err(|error| {
            let what = format!("cannot be read on: {error}");
            whole(&self.path, what, "the rest of the file", "fetch it again")
        })?;
        let digest = hashed.hash.finalize();
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Source {
            path: self.path,
            sha256,
        })
    }
}

/// A problem with a file as a whole.
pub(super) fn whole(
    path: &Path,
    what: impl Into<String>,
    expected: impl Into<String>,
    fix: impl Into<String>,
) -> TraceError {
    let problem = Problem::new(what, expected, fix);
    TraceError {
        file: path.to_path_buf(),
        line: None,
        problem,
    }
}
