// SPDX-License-Identifier: GPL-2.0-or-later
// Checks a report.html for accessibility with axe-core, in light and dark, wide and narrow, and leaves
// pictures of it. Optional: it needs node, Chromium (CHROMIUM, default /usr/bin/chromium) and two packages:
//   npm install --prefix DIR playwright-core axe-core
//   NODE_PATH_DIR=DIR node tests/report/axe.mjs report.html [PREFIX-OF-PICTURES]
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const require = createRequire(resolve(process.env.NODE_PATH_DIR ?? '.', 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [page_path, pictures] = process.argv.slice(2);
if (!page_path) {
	console.error('usage: axe.mjs report.html [PREFIX]');
	process.exit(2);
}

const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
		'--disable-component-update', '--disable-sync'],
});
let serious = 0;
for (const colorScheme of ['light', 'dark']) {
	for (const width of [1280, 400]) {
		// The page forbids scripts; the checker has to get past that.
		const context = await browser.newContext({
			viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
		const page = await context.newPage();
		const asked = [];
		page.on('request', (r) => asked.push(r.url()));
		await page.goto('file://' + resolve(page_path));
		if (asked.length > 1) {
			console.log('the page asked for', asked.slice(1));
			serious++;
		}
		if (pictures)
			await page.screenshot({ path: `${pictures}-${width}-${colorScheme}.png`, fullPage: true });
		await page.evaluate(axe);
		const result = await page.evaluate(() => axe.run());
		console.log(`${colorScheme} ${width}: ${result.passes.length} rules hold, ` +
			`${result.violations.length} do not`);
		for (const v of result.violations) {
			console.log(`  ${v.impact}: ${v.id}: ${v.help} (${v.nodes.length})`);
			console.log('    ' + v.nodes[0].html.slice(0, 160));
			serious += v.impact === 'serious' || v.impact === 'critical';
		}
		await context.close();
	}
}
await browser.close();
process.exit(serious ? 1 : 0);
