//go:build kvdebug

package drivertest

// lendMutants is empty: under kvdebug the pairs of a scan are copies, which hides what such a
// mutant does wrong.
var lendMutants []*mutant
