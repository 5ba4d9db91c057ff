(function () {
  'use strict';
  var root = document.documentElement;
  var button = document.getElementById('theme');
  var prefersDark = window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
  function dark() {
    return root.dataset.theme ? root.dataset.theme === 'dark' : prefersDark;
  }
  function label() {
    button.textContent = dark() ? 'light colours' : 'dark colours';
  }
  button.addEventListener('click', function () {
    root.dataset.theme = dark() ? 'light' : 'dark';
    label();
  });
  label();
  button.hidden = false;
  var link = document.getElementById('download');
  var json = document.getElementById('results-json').textContent;
  var text = JSON.stringify(JSON.parse(json), null, 2) + '\n';
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.hidden = false;
})();
