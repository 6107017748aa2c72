// Package mutants holds deliberate faults of the simulator and of the proof, each with the tests
// that must find it: what the lab says of the engines is worth no more than what its own tests
// would notice. It has no other code.
//
// A mutant is a file below testdata, in txtar format: a sentence that says what is wrong, the file
// of the repository, the lines that are there, those that are to be there, and the tests that then
// fail. The repository is not touched: the mutated file goes to the compiler as an overlay.
package mutants
