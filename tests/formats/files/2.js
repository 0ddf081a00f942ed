// Lamps of the lighthouses.

// The keeper at Jarrowness is Teodor Vance.
const lampOf = { "Jarrowness": 10238 };
