// What is hardest to read on a page of the tab: contrast as WCAG 2 defines it, over what it asks for (4.5 of text, 3 of a mark: what only explains one has its colour).
const rgb = text => text.match(/[\d.]+/g).map(Number);
const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = color => color.slice(0, 3).map(v => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = node => {
    for (; node; node = node.parentElement) {
        const color = rgb(getComputedStyle(node).backgroundColor);
        if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
};
const worst = {share: 99};
for (const node of document.querySelectorAll('.container-fluid .row *')) {
    if (![...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim())) continue;
    if (node.closest('#loading-overlay')) continue;
    const style = getComputedStyle(node);
    const a = light(rgb(node.closest('svg') ? style.fill : style.color)), b = light(behind(node));
    const share = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) / (node.ariaHidden === 'true' || node.tagName === 'title' ? 3 : 4.5);
    if (share < worst.share) Object.assign(worst, {share, text: node.textContent, tag: node.tagName});
}
return worst;
