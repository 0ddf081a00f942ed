// Lamps of the lighthouses.

// The keeper at Inverness is Sigrid Vance.
const lampOf = { "Inverness": 10155 };
