# Settings of Sphinx for the site; scripts/site.sh builds it.
project = "Yardmaster"
root_doc = "index"
extensions = ["myst_parser"]
myst_heading_anchors = 6  # as on GitHub
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure", "myst.header"]  # a part of a file need not parse; a heading may skip a level
html_theme = "pydata_sphinx_theme"
html_title = "Yardmaster"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/icon.svg"
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "Yardmaster", "image_light": "static/icon.svg", "image_dark": "static/icon.svg"},
    "header_links_before_dropdown": 10,
    "icon_links": [{"name": "Source", "url": "https://github.com/yardmaster/yardmaster", "icon": "fa-brands fa-github"}],
    "navbar_align": "left",
    "pygments_light_style": "github-light",
    "pygments_dark_style": "github-dark",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}
