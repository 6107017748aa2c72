// Package mutants holds deliberate faults: of the simulator and of the proof, each with the tests
// that must find it, and of drivers and stores, of which a proof must find a promise broken. What
// the lab says of the engines is worth no more than what it would notice. It has no other code.
//
// A mutant is a file below testdata, in txtar format: a sentence that says what is wrong, the file
// of the repository, or a module and a file of it, the lines that are there, those that are to be
// there, and what comes of it: the tests that then fail ("caught by"), the engine that a proof
// finds broken ("found in"), why no crash can show it ("equivalent"), or why the proof misses it
// ("missed"). The repository is not touched: the mutated file goes to the compiler as an overlay,
// that of a module over a copy of it.
package mutants
