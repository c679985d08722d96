//! Unpacking zstd as a stream.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// First bytes of a frame.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The content of all frames of a file, one after the other.
///
/// It holds the window of one frame, at most 128 MiB as `zstd -d` allows by default, and one block.
pub(super) struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            decoder: FrameDecoder::new(),
            in_frame: false,
        }
    }

    pub(super) fn into_inner(self) -> R {
        self.source
    }

    /// Reads the header of the next frame; a skippable frame holds no content.
    fn begin_frame(&mut self) -> io::Result<()> {
        let skipped = match self.decoder.reset(&mut self.source) {
            Ok(()) => {
                self.in_frame = true;
                return Ok(());
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => u64::from(length),
            Err(error) => return Err(io::Error::other(error)),
        };
        let found = io::copy(&mut (&mut self.source).take(skipped), &mut io::sink())?;
        if found < skipped {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            let what = "the content of a zstd frame does not match its checksum";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame {
                let count = self.decoder.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                if self.decoder.is_finished() {
                    self.end_frame()?;
                } else {
                    self.decoder
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(io::Error::other)?;
                }
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin_frame()?;
            }
        }
    }
}
