// Takes the pictures of docs/images: the page as it is now, wide and at phone width.
//
//   node pictures.js URL FOLDER      after some minutes under load; then make them smaller: pngquant --strip 128 FILE

import { chromium } from "playwright-core";

const [url, folder] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const pictures = [
  ["page", { viewport: { width: 1440, height: 1036 }, colorScheme: "light" }],
  ["page-phone", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }],
];
for (const [name, options] of pictures) {
  const page = await browser.newPage(options);
  await page.goto(url);
  await page.waitForTimeout(6000);
  await page.screenshot({ path: `${folder}/${name}.png` });
}
await browser.close();
