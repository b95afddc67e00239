// Runs the public suite `http-cache-tests` against a cache and writes what came of each test.
//
//   node run.mjs SUITE_DIR BASE_URL RESULT_FILE [TEST_ID]
//
// Besides the suite's own list it runs its tests of Surrogate-Control, which the list leaves out, and the same tests
// with CDN-Cache-Control in the place of that field (RFC 9213). With TEST_ID only that test and those it depends on
// run, and the exchange is printed.

import { createRequire } from 'node:module'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [suiteDir, baseUrl, resultFile, onlyId] = process.argv.slice(2)
const load = path => import(pathToFileURL(resolve(join(suiteDir, path))))

const { runTests, getResults } = await load('client/runner.mjs')
const listed = (await load('tests/index.mjs')).default
const surrogate = (await load('tests/surrogate-control.mjs')).default
const fetch = createRequire(pathToFileURL(resolve(join(suiteDir, 'cli.mjs'))))('node-fetch')

// Parameters are Surrogate-Control's alone, and so is the field in which a surrogate announces itself.
function hasCounterpart (test) {
  const text = JSON.stringify(test.requests)
  return !/Surrogate-Control","[^"]*;/.test(text) && !text.includes('Surrogate-Capability')
}

function targeted () {
  const tests = surrogate.tests.filter(hasCounterpart)
  const renamed = JSON.stringify(tests)
    .replaceAll('Surrogate-Control', 'CDN-Cache-Control')
    .replaceAll('"surrogate-', '"cdn-')
    .replace(/sur?rogate/gi, 'CDN')
  return { ...surrogate, name: 'CDN-Cache-Control', id: 'cdn-cache-control', tests: JSON.parse(renamed) }
}

// The suite's 206 of bytes 4-9 carries five bytes. The same tests with a range that fits its bytes, and what follows
// from that.
function consistent () {
  const partial = listed.find(suite => suite.id === 'partial')
  const tests = partial.tests.filter(test => JSON.stringify(test.requests).includes('bytes 4-9/10'))
  const text = JSON.stringify(tests)
    .replaceAll('bytes 4-9/10', 'bytes 5-9/10')
    .replaceAll('"id":"partial-', '"id":"consistent-partial-')
  const derived = JSON.parse(text)
  const expected = { byterange: '123', absent: '1234' }
  for (const test of derived) {
    const answer = expected[test.id.split('-').pop()]
    if (answer) test.requests[1].expected_response_text = answer
  }
  return { ...partial, name: 'Partial Content that fits its range', id: 'consistent-partial', tests: derived }
}

function withDependencies (suites, id) {
  const all = new Map(suites.flatMap(suite => suite.tests).map(test => [test.id, test]))
  const wanted = new Set()
  const add = id => {
    if (!all.has(id)) throw new Error(`no such test: ${id}`)
    if (wanted.has(id)) return
    wanted.add(id)
    for (const dependency of all.get(id).depends_on || []) add(dependency)
  }
  add(id)
  all.get(id).dump = true
  return suites.map(suite => ({ ...suite, tests: suite.tests.filter(test => wanted.has(test.id)) }))
}

let suites = [...listed, surrogate, targeted(), consistent()]
if (onlyId) suites = withDependencies(suites, onlyId)
await runTests(suites, fetch, false, baseUrl)

const results = getResults()
const tests = suites.flatMap(suite => suite.tests.map(test => ({
  id: test.id,
  suite: suite.name,
  name: test.name,
  kind: test.kind || 'required',
  depends_on: test.depends_on || [],
  result: results[test.id]
}))).filter(test => test.result !== undefined)
writeFileSync(resultFile, JSON.stringify(tests, null, 1))
