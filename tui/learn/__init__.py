"""Learning: what runs decided and how it should have been, and the policies that learn from it."""
