//! A small synthetic trace: conversations that share system prompts and grow turn by turn.

use std::fmt::Write;

/// Tokens of a hash id in the sample.
pub const BLOCK_SIZE: u64 = 512;

/// Shared system prompts, and how many blocks each has.
const SYSTEM_PROMPTS: [u64; 4] = [1, 2, 3, 5];
/// Conversations that are open at once, at most.
const OPEN: usize = 24;

/// Splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `low..high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }
}

struct Conversation {
    name: u64,
    turns_left: u64,
    tokens: u64,
    /// Ids of the complete blocks.
    ids: Vec<u64>,
}

/// Rows of the `mooncake` format with a block size of [`BLOCK_SIZE`]: `requests` of them, the same
/// text for the same seed.
///
/// First turns carry a timestamp, later ones a delay after the turn before (the think time). A
/// prompt holds the conversation so far, output included, so its complete blocks repeat.
pub fn sample(requests: u64, seed: u64) -> String {
    let mut random = Random(seed);
    let mut next_id = SYSTEM_PROMPTS.iter().sum();
    let mut open: Vec<Conversation> = Vec::new();
    let mut text = String::new();
    let (mut now, mut started) = (0, 0);
    for _ in 0..requests {
        let goes_on = !open.is_empty() && (open.len() == OPEN || random.between(0, 100) < 60);
        let when = if goes_on {
            let chosen = random.between(0, open.len() as u64) as usize;
            let last = open.len() - 1;
            open.swap(chosen, last);
            format!("\"delay\": {}", random.between(500, 20_000))
        } else {
            open.push(start(&mut random, started));
            started += 1;
            let when = format!("\"timestamp\": {now}");
            now += random.between(0, 2_000);
            when
        };
        let Some(mut talk) = open.pop() else { continue };
        talk.tokens += random.between(20, 1_400);
        while (talk.ids.len() as u64) < talk.tokens / BLOCK_SIZE {
            talk.ids.push(next_id);
            next_id += 1;
        }
        let mut ids: Vec<String> = talk.ids.iter().map(u64::to_string).collect();
        if talk.tokens % BLOCK_SIZE > 0 {
            // The open block gets another id once it is longer: its content is another one then.
            ids.push(next_id.to_string());
            next_id += 1;
        }
        let output = random.between(1, 400);
        let _ = writeln!(
            text,
            "{{{when}, \"session_id\": \"chat-{}\", \"input_length\": {}, \"output_length\": \
             {output}, \"hash_ids\": [{}]}}",
            talk.name,
            talk.tokens,
            ids.join(", ")
        );
        talk.tokens += output;
        talk.turns_left -= 1;
        if talk.turns_left > 0 {
            open.push(talk);
        }
    }
    text
}

fn start(random: &mut Random, name: u64) -> Conversation {
    let group = random.between(0, SYSTEM_PROMPTS.len() as u64) as usize;
    let first: u64 = SYSTEM_PROMPTS[..group].iter().sum();
    let ids: Vec<u64> = (first..first + SYSTEM_PROMPTS[group]).collect();
    let turns_left = random.between(1, 9);
    Conversation {
        name,
        turns_left,
        tokens: ids.len() as u64 * BLOCK_SIZE,
        ids,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_the_text() {
        assert_eq!(sample(50, 7), sample(50, 7));
        assert_ne!(sample(50, 7), sample(50, 8));
        assert_eq!(sample(50, 7).lines().count(), 50);
        assert_eq!(sample(0, 7), "");
    }
}
