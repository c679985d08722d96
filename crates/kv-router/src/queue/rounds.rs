//! Deficit round robin between classes.

/// Whose turn it is. A class serves while its deficit covers the cost of its head; each visit of
/// the ring adds its quantum, and what is left over is kept.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    quantum: Vec<u64>,
    deficit: Vec<u64>,
    /// The class that the ring stands at.
    at: usize,
}

impl Rounds {
    pub(super) fn new(quantum: Vec<u64>) -> Self {
        Self {
            deficit: vec![0; quantum.len()],
            quantum,
            at: 0,
        }
    }

    /// Chooses among classes with a head that could go, given as (class, cost of the head) by
    /// class, at least one; and charges the cost to it. Rounds in which nobody could be served
    /// are skipped at once.
    pub(super) fn next(&mut self, ready: &[(usize, u64)]) -> usize {
        let classes = self.quantum.len();
        let stay = ready.iter().find(|(class, _)| *class == self.at);
        if let Some(&(class, cost)) = stay
            && self.deficit[class] >= cost
        {
            self.deficit[class] -= cost;
            return class;
        }
        // Distance 1 is the next class of the ring; the class we stand at is visited last.
        let distance = |class: usize| match (class + classes - self.at) % classes {
            0 => classes,
            steps => steps,
        };
        let visits = |&(class, cost): &(usize, u64)| {
            cost.saturating_sub(self.deficit[class])
                .div_ceil(self.quantum[class])
                .max(1)
        };
        let &(chosen, cost) = ready
            .iter()
            .min_by_key(|entry| (visits(entry), distance(entry.0)))
            .expect("a class is ready");
        let (rounds, reach) = (visits(&(chosen, cost)), distance(chosen));
        for &(class, _) in ready {
            let visited = if distance(class) <= reach {
                rounds
            } else {
                rounds - 1
            };
            let grant = visited.saturating_mul(self.quantum[class]);
            self.deficit[class] = self.deficit[class].saturating_add(grant);
        }
        self.at = chosen;
        self.deficit[chosen] -= cost;
        chosen
    }

    /// The class has no waiters any more: it keeps nothing.
    pub(super) fn reset(&mut self, class: usize) {
        self.deficit[class] = 0;
    }

    pub(super) fn state(&self) -> (&[u64], usize) {
        (&self.deficit, self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves everything of queues of costs and gives the classes in order.
    fn serve(quantum: &[u64], mut queues: Vec<Vec<u64>>) -> Vec<usize> {
        let mut rounds = Rounds::new(quantum.to_vec());
        let mut order = Vec::new();
        loop {
            let heads = queues.iter().enumerate();
            let ready: Vec<_> = heads
                .filter_map(|(class, queue)| Some((class, *queue.first()?)))
                .collect();
            if ready.is_empty() {
                return order;
            }
            let class = rounds.next(&ready);
            queues[class].remove(0);
            if queues[class].is_empty() {
                rounds.reset(class);
            }
            order.push(class);
        }
    }

    #[test]
    fn equal_quanta_alternate() {
        assert_eq!(
            serve(&[10, 10], vec![vec![10; 3], vec![10; 3]]),
            [1, 0, 1, 0, 1, 0]
        );
    }

    #[test]
    fn shares_follow_the_quanta() {
        let order = serve(&[30, 10], vec![vec![10; 30], vec![10; 30]]);
        let zeros = order[..20].iter().filter(|class| **class == 0).count();
        assert_eq!(zeros, 15);
    }

    #[test]
    fn a_large_head_saves_up_and_is_served() {
        let order = serve(&[10, 10], vec![vec![35], vec![10; 6]]);
        assert_eq!(order.iter().position(|class| *class == 0), Some(4));
    }

    #[test]
    fn idle_rounds_are_skipped_at_once() {
        assert_eq!(serve(&[1, 1], vec![vec![1 << 40], vec![1 << 41]]), [0, 1]);
    }
}
